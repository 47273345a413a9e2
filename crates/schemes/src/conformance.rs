//! The laws every scheme keeps, as checks that any implementation of the roles can be put through.
//!
//! Each check drives a machine with steps somebody else chose (a property test, a fuzzer) and
//! panics with a sentence when a law is broken.

use crate::dice::{Dice, Purpose};
use crate::roles::{Arrival, Bcn, Cnm, CongestionPoint, CpAction, CpId, Queue, ReactionPoint, Signal, SignalKind};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// One thing that happens to a reaction point.
#[derive(Clone, Copy, Debug)]
pub enum RpStep {
    /// Time passes.
    Pass(Span),
    /// A frame is sent with this much waiting behind it.
    Sent(Bytes, Bytes),
    /// A signal comes in.
    Hear(Signal),
    /// It is woken, perhaps early, perhaps late.
    Wake,
}

/// A frame that arrives at a congestion point, and the queue after it.
#[derive(Clone, Copy, Debug)]
pub struct CpStep {
    /// The frame.
    pub frame: Arrival,
    /// Octets queued.
    pub len: Bytes,
}

fn dice() -> Dice {
    Dice::new(1, 0, "conformance", Purpose::Reaction)
}

/// Drives a reaction point on a port of `line_rate` and checks after every step:
///
/// 1. Neither the limit nor the current rate passes the line rate.
/// 2. A signal that tells of congestion never raises the rate.
/// 3. After a wake-up that was due, the next one lies in the future; one that is early changes nothing.
/// 4. The same steps on a copy give the same states.
///
/// # Panics
/// When a law is broken.
pub fn reaction_point<R: ReactionPoint + Clone>(fresh: &R, line_rate: BitRate, steps: &[RpStep]) {
    let (mut rp, mut copy) = (fresh.clone(), fresh.clone());
    let (mut rolls, mut copy_rolls) = (dice(), dice());
    let mut now = Instant::ZERO;
    for step in steps {
        let before = rp.gauge().current_rate;
        let due = rp.next_wake() <= now;
        match *step {
            RpStep::Pass(span) => now += span,
            _ => {
                drive(&mut rp, now, step, &mut rolls);
                drive(&mut copy, now, step, &mut copy_rolls);
            }
        }
        let gauge = rp.gauge();
        assert!(gauge.current_rate <= line_rate, "{step:?} took the current rate to {}", gauge.current_rate);
        assert!(rp.limit().is_none_or(|limit| limit <= line_rate), "{step:?} took the limit past the line rate");
        match step {
            RpStep::Hear(signal) if congested(signal) => {
                assert!(gauge.current_rate <= before, "{signal:?} raised the rate from {before}");
            }
            RpStep::Wake if due => {
                assert!(rp.next_wake() > now, "after a wake-up at {now} the next is asked for at {}", rp.next_wake());
            }
            RpStep::Wake => assert_eq!(gauge.current_rate, before, "an early wake-up changed the rate"),
            _ => {}
        }
        assert_eq!(gauge, copy.gauge(), "a copy went another way at {step:?}");
        assert_eq!(rp.next_wake(), copy.next_wake(), "a copy went another way at {step:?}");
    }
}

fn drive(rp: &mut impl ReactionPoint, now: Instant, step: &RpStep, dice: &mut Dice) {
    match step {
        RpStep::Pass(_) => {}
        RpStep::Sent(size, backlog) => {
            let _ = rp.on_sent(now, *size, *backlog, dice);
        }
        RpStep::Hear(signal) => rp.on_signal(now, signal, dice),
        RpStep::Wake => rp.on_wake(now, dice),
    }
}

/// Whether a signal can only mean "slower": nothing in it speaks of room.
fn congested(signal: &Signal) -> bool {
    match signal {
        Signal::Cnm(Cnm { .. }) | Signal::Echo(_) | Signal::PushBack(_) => true,
        Signal::Bcn(Bcn { q_offset, q_delta, stop, .. }) => *stop || (*q_offset < 0 && *q_delta >= 0),
    }
}

/// Drives a congestion point and checks after every frame:
///
/// 1. It speaks only the kinds of signal it declares.
/// 2. Quantized feedback is from 1 to 255, and the offset is the set point's distance from the queue.
/// 3. Frames that are not under congestion control are never answered.
/// 4. The same steps on a copy give the same answers.
///
/// # Panics
/// When a law is broken.
pub fn congestion_point<C: CongestionPoint + Clone>(
    fresh: &C,
    id: CpId,
    speaks: &[SignalKind],
    capacity: Bytes,
    steps: &[CpStep],
) {
    let (mut cp, mut copy) = (fresh.clone(), fresh.clone());
    let (mut rolls, mut copy_rolls) = (dice(), dice());
    let mut now = Instant::ZERO;
    for step in steps {
        now += Span::from_us(1);
        let queue = Queue { len: step.len, capacity };
        cp.on_departure(now, step.len.saturating_sub(step.frame.size));
        copy.on_departure(now, step.len.saturating_sub(step.frame.size));
        let answer = cp.on_arrival(now, &step.frame, queue, &mut rolls);
        assert_eq!(answer, copy.on_arrival(now, &step.frame, queue, &mut copy_rolls), "a copy went another way");
        let CpAction::Send(signal) = answer else { continue };
        assert!(step.frame.controlled, "a frame outside congestion control was answered with {signal:?}");
        assert!(speaks.contains(&signal.kind()), "{signal:?} is not a kind it declares");
        match signal {
            Signal::Cnm(cnm) => {
                assert!(cnm.quantized_fb > 0, "a message without feedback: {cnm:?}");
                assert_eq!(cnm.cp, id);
            }
            Signal::Bcn(bcn) => assert_eq!(bcn.cp, id),
            Signal::Echo(cp) | Signal::PushBack(cp) => assert_eq!(cp, id),
        }
    }
}
