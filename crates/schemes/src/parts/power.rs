//! The control law of PowerTCP: a window, or a rate, that is divided by the smoothed power of its path.

use crate::choice;
use crate::parts::window::WindowRule;
use crate::roles::{Endpoint, Flight};
use qcnlab_units::{BitRate, Bytes};
use std::collections::VecDeque;

choice! {
    /// What PowerTCP controls.
    pub enum PowerForm {
        /// The window, as published; the rate follows.
        Window = "window",
        /// The rate, as the authors' simulator has it; `window` says how the window follows.
        Rate = "rate",
    }
}

choice! {
    /// Which window, or rate, the power divides.
    pub enum OldWindow {
        /// That at which the newest packet was sent that is acknowledged.
        Sending = "sending",
        /// One that is noted once a round trip: at the first acknowledgement of what was sent after the last note.
        RoundTrip = "round_trip",
    }
}

/// What is controlled, and what it is controlled by.
#[derive(Clone, Debug)]
pub struct PowerLaw {
    form: PowerForm,
    /// Its base round-trip time is the scheme's.
    endpoint: Endpoint,
    /// How the window follows, form rate.
    window: WindowRule,
    gamma: f64,
    /// beta, in the unit of what is controlled: octets or bit/s.
    pub(crate) step: f64,
    /// The base round-trip time, ps.
    pub(crate) tau: f64,
    least: f64,
    most: f64,
    /// The window, or the rate.
    pub(crate) current: f64,
    /// What it was, which the power divides.
    pub(crate) reference: f64,
    /// What it was since so many octets were sent, the oldest first, where that is remembered.
    history: Option<VecDeque<(Bytes, f64)>>,
    /// The smoothed power; `None` before the first was measured.
    pub(crate) power: Option<f64>,
    /// More than these octets acknowledged are a round trip.
    until: Bytes,
}

/// The numbers of a control law, as a scheme's parameters have them.
#[derive(Clone, Copy, Debug)]
pub struct PowerNumbers {
    /// What is controlled.
    pub form: PowerForm,
    /// The weight of what the power says, beside what is.
    pub gamma: f64,
    /// Additive step of the window; if `None`, the share of one of `expected_flows` in a window at line rate.
    pub beta: Option<Bytes>,
    /// Flows that share the host's link.
    pub expected_flows: u32,
    /// Additive step of the rate.
    pub ai_rate: BitRate,
    /// The least rate.
    pub min_rate: BitRate,
    /// How the window follows the rate.
    pub window: WindowRule,
    /// Which window or rate the power divides.
    pub old_window: OldWindow,
    /// The power to begin with.
    pub first_power: Option<f64>,
}

impl PowerLaw {
    /// A flow that starts at line rate, on an endpoint with the base round-trip time of the scheme.
    pub fn new(numbers: &PowerNumbers, endpoint: Endpoint) -> PowerLaw {
        let (line_rate, bdp) = (endpoint.line_rate.as_f64(), endpoint.bdp().as_f64());
        let least_rate = numbers.min_rate.as_f64().min(line_rate);
        let (most, least, step) = match numbers.form {
            PowerForm::Window => {
                let share = || bdp / f64::from(numbers.expected_flows);
                (bdp, bdp * least_rate / line_rate, numbers.beta.map_or_else(share, Bytes::as_f64))
            }
            PowerForm::Rate => (line_rate, least_rate, numbers.ai_rate.as_f64()),
        };
        PowerLaw {
            form: numbers.form,
            endpoint,
            window: numbers.window,
            gamma: numbers.gamma,
            step,
            // Where it is not known, what a packet takes at line rate stands in.
            tau: bdp * 8.0e12 / line_rate,
            least,
            most,
            current: most,
            reference: most,
            history: (numbers.old_window == OldWindow::Sending).then(VecDeque::new),
            power: numbers.first_power,
            until: Bytes::ZERO,
        }
    }

    /// Takes a power that was measured over `time` picoseconds into the smoothed one.
    pub fn smooth(&mut self, measured: f64, time: f64) {
        let share = (time / self.tau).min(1.0);
        self.power = Some(self.power.map_or(measured, |power| (1.0 - share) * power + share * measured));
    }

    /// Finds what was, for an acknowledgement: to be called before it is answered.
    pub fn recall(&mut self, flight: &Flight) {
        let Some(history) = &mut self.history else { return };
        while let Some((sent, was)) = history.front()
            && *sent < flight.acknowledged
        {
            self.reference = *was;
            history.pop_front();
        }
    }

    /// Sets what is controlled by the smoothed power, in units of `eta`; the power is 1 where a link is full and nothing
    /// queues.
    pub fn update(&mut self, eta: f64) {
        let Some(power) = self.power else { return };
        // The simulator weighs the rate of a round trip ago where the paper weighs the window that is.
        let kept = match self.form {
            PowerForm::Window => self.current,
            PowerForm::Rate => self.reference,
        };
        let wanted = self.reference * eta / power + self.step;
        self.current = (self.gamma * wanted + (1.0 - self.gamma) * kept).clamp(self.least, self.most);
    }

    /// Whether an acknowledgement ends a round trip.
    pub fn is_round_trip(&self, flight: &Flight) -> bool {
        flight.acknowledged > self.until
    }

    /// Notes what is controlled, once an acknowledgement is answered.
    pub fn note(&mut self, flight: &Flight) {
        let round_trip = self.is_round_trip(flight);
        if round_trip {
            self.until = flight.sent;
        }
        match &mut self.history {
            Some(history) => match history.back_mut() {
                Some((sent, last)) if *sent >= flight.sent => *last = self.current,
                _ => history.push_back((flight.sent, self.current)),
            },
            None if round_trip => self.reference = self.current,
            None => {}
        }
    }

    /// The rate.
    #[inline]
    pub fn rate(&self) -> BitRate {
        BitRate::bps((self.endpoint.line_rate.as_f64() * self.current / self.most) as u64)
    }

    /// The window; `None` where the rate has none beside it.
    #[inline]
    pub fn window(&self) -> Option<Bytes> {
        match self.form {
            PowerForm::Window => Some(Bytes::new((self.current as u64).max(1))),
            PowerForm::Rate => self.window.window(&self.endpoint, self.rate()),
        }
    }

    /// Whether there is ever a window.
    pub fn permits_windows(&self) -> bool {
        self.form == PowerForm::Window || self.window != WindowRule::Open
    }
}
