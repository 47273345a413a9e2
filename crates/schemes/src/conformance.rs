//! The laws every scheme keeps, as checks that any implementation of the roles can be put through.
//!
//! Each check drives a machine with steps somebody else chose (a property test, a fuzzer) and
//! panics with a sentence when a law is broken.

use crate::dice::{Dice, Purpose};
use crate::fast_path::{CpFastPath, RpFastPath};
use crate::roles::{
    Acknowledgement, Answer, Arrival, Bcn, CongestionPoint, CpAction, CpId, Delivered, Echo, EventKind, Flight,
    HopTelemetry, LossSign, NotificationPoint, Probe, ProbeAction, ProbeKind, Queue, ReactionPoint, Signal, SignalKind,
    Stamp, TransportEvent,
};
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
    /// Something happens to its octets, when so many are acknowledged and so many are in flight.
    Transport(TransportStep, Bytes, Bytes),
    /// It is woken, perhaps early, perhaps late.
    Wake,
}

/// One thing that happens to the octets of a flow.
#[derive(Clone, Copy, Debug)]
pub enum TransportStep {
    /// A packet of these octets is acknowledged, marked or not, after this round-trip time, with one hop's telemetry.
    Acknowledged(Bytes, bool, Span, HopTelemetry),
    /// A negative acknowledgement.
    NegativelyAcknowledged,
    /// A loss is inferred.
    Lost(LossSign),
    /// A packet was cut.
    Trimmed(Bytes),
    /// Credit arrives.
    Credited(Bytes),
    /// The link is paused, or may send again.
    Paused(bool),
    /// The next switch stops the flow, or lets it go on.
    FlowPaused(bool),
}

impl TransportStep {
    fn tell(&self, rp: &mut impl ReactionPoint, now: Instant, flight: &Flight, dice: &mut Dice) {
        let mut tell = |event| rp.on_transport(now, &event, flight, dice);
        match *self {
            TransportStep::Acknowledged(newly, marked, rtt, hop) => {
                tell(TransportEvent::Acknowledged(Acknowledgement {
                    newly,
                    packets: 1,
                    marked: u32::from(marked),
                    sent_at: Instant::from_ps(now.ps().saturating_sub(rtt.ps())),
                    path: 0,
                    code: (newly.get() % 256) as u8,
                    hops: &[hop],
                }))
            }
            TransportStep::NegativelyAcknowledged => tell(TransportEvent::NegativelyAcknowledged),
            TransportStep::Lost(sign) => tell(TransportEvent::Lost(sign)),
            TransportStep::Trimmed(cut) => tell(TransportEvent::Trimmed(cut)),
            TransportStep::Credited(octets) => tell(TransportEvent::Credited(octets)),
            TransportStep::Paused(paused) => tell(TransportEvent::Paused(paused)),
            TransportStep::FlowPaused(paused) => tell(TransportEvent::FlowPaused(paused)),
        }
    }

    const fn kind(&self) -> EventKind {
        match self {
            TransportStep::Acknowledged(..) => EventKind::Acknowledgement,
            TransportStep::NegativelyAcknowledged => EventKind::NegativeAcknowledgement,
            TransportStep::Lost(_) => EventKind::Loss,
            TransportStep::Trimmed(_) => EventKind::Trim,
            TransportStep::Credited(_) => EventKind::Credit,
            TransportStep::Paused(_) => EventKind::Pause,
            TransportStep::FlowPaused(_) => EventKind::FlowPause,
        }
    }
}

/// One thing that happens to a congestion point.
#[derive(Clone, Copy, Debug)]
pub enum CpStep {
    /// A frame arrives, and so many octets are queued after it.
    Frame(Arrival, Bytes),
    /// A probe arrives, and finds so many octets queued.
    Probe(Probe, Bytes),
    /// Its class is paused, or may send again, with so many frames queued.
    Pause(bool, u32),
}

/// One thing that happens to a notification point.
#[derive(Clone, Copy, Debug)]
pub enum NpStep {
    /// Time passes.
    Pass(Span),
    /// A data frame arrives.
    Frame(Delivered),
    /// A probe arrives.
    Probe(Probe),
}

fn dice() -> Dice {
    Dice::new(1, 0, "conformance", Purpose::Reaction)
}

/// Drives a reaction point on a port of `line_rate` and checks after every step:
///
/// 1. Neither the limit nor the current rate passes the line rate.
/// 2. A signal that tells of congestion never raises the rate.
/// 3. After a wake-up that was due, the next one lies in the future; one that is early changes nothing.
/// 4. A signal of a kind that its scheme does not declare to hear changes nothing.
/// 5. A probe carries the time at which it was taken and a rate of at most the line rate, and is taken once. A reaction
///    point that declares no probes sends none.
/// 6. Where `on_sent` may be late, a frame does not bring the next wake-up forward.
/// 7. An event of a kind that it does not declare changes nothing.
/// 8. A window, where it permits one, is an octet at least; who does not declare windows permits none.
/// 9. A loss and a negative acknowledgement never raise the rate. Credit never falls.
/// 10. The same steps on a copy lead to the same states, also where the copy takes the shortcuts.
///
/// # Panics
/// When a law is broken.
pub fn reaction_point<R: ReactionPoint + RpFastPath + Clone>(
    fresh: &R,
    line_rate: BitRate,
    hears: &[SignalKind],
    steps: &[RpStep],
) {
    let (mut rp, mut copy) = (fresh.clone(), fresh.clone());
    let (mut rolls, mut copy_rolls) = (dice(), dice());
    let mut now = Instant::ZERO;
    for step in steps {
        let state = (rp.gauge(), rp.limit());
        let (window, credit) = (rp.window(), rp.credit());
        let before = state.0.current_rate;
        let wake = rp.next_wake();
        let due = wake <= now;
        match *step {
            RpStep::Pass(span) => now += span,
            _ => {
                let stamp = drive(&mut rp, now, step, &mut rolls);
                let counted = match *step {
                    RpStep::Sent(size, backlog) => copy.count_only(size, backlog),
                    RpStep::Transport(TransportStep::Acknowledged(_, false, ..), ..) => {
                        copy.ignores_unmarked_acknowledgements()
                    }
                    _ => false,
                };
                if !counted {
                    let _ = drive(&mut copy, now, step, &mut copy_rolls);
                }
                let unchanged = (rp.limit(), rp.next_wake(), stamp) == (state.1, wake, Stamp::default());
                assert!(!counted || unchanged, "{step:?} was only counted or ignored, and did more");
            }
        }
        let gauge = rp.gauge();
        assert!(gauge.current_rate <= line_rate, "{step:?} took the current rate to {}", gauge.current_rate);
        assert!(rp.limit().is_none_or(|limit| limit <= line_rate), "{step:?} took the limit past the line rate");
        match step {
            RpStep::Hear(signal) if !hears.contains(&signal.kind()) => {
                let same = (gauge, rp.limit(), rp.next_wake()) == (state.0, state.1, wake);
                assert!(same, "{signal:?} is not a kind it hears, and changed it");
            }
            RpStep::Hear(signal) if congested(signal) => {
                assert!(gauge.current_rate <= before, "{signal:?} raised the rate from {before}");
            }
            RpStep::Transport(event, ..) if !rp.capabilities().events.contains(event.kind()) => {
                let same = (gauge, rp.limit(), rp.next_wake(), rp.window()) == (state.0, state.1, wake, window);
                assert!(same, "{event:?} is not a kind it declares, and changed it");
            }
            RpStep::Transport(TransportStep::NegativelyAcknowledged | TransportStep::Lost(_), ..) => {
                assert!(gauge.current_rate <= before, "{step:?} raised the rate from {before}");
            }
            RpStep::Wake if due => {
                assert!(rp.next_wake() > now, "after a wake-up at {now} the next is asked for at {}", rp.next_wake());
            }
            RpStep::Sent(..) if rp.on_sent_may_be_late() => {
                assert!(rp.next_wake() >= wake, "a frame brought the wake-up at {wake} forward to {}", rp.next_wake());
            }
            RpStep::Wake => assert_eq!(gauge.current_rate, before, "an early wake-up changed the rate"),
            _ => {}
        }
        assert!(rp.window().is_none_or(|window| window > Bytes::ZERO), "{step:?} closed the window for ever");
        assert!(rp.credit() >= credit, "{step:?} took credit back");
        assert_eq!(rp.credit(), copy.credit(), "a copy went another way at {step:?}");
        let windows = rp.capabilities().permits_windows || (rp.window(), rp.gap()) == (None, Span::ZERO);
        assert!(windows, "it permits a window or a gap and does not declare it");
        let probe = rp.take_probe(now);
        if let Some(probe) = probe {
            assert!(rp.capabilities().sends_probes, "it sends probes and says it does not");
            assert_eq!(probe.asked_at, now, "a probe of another instant: {probe:?}");
            assert!(probe.rate <= line_rate, "{probe:?} asks for more than the line rate");
            assert_eq!(rp.take_probe(now), None, "a probe was taken twice");
        }
        assert_eq!(probe, copy.take_probe(now), "a copy went another way at {step:?}");
        assert_eq!(rp.window(), copy.window(), "a copy went another way at {step:?}");
        assert_eq!(gauge, copy.gauge(), "a copy went another way at {step:?}");
        assert_eq!(rp.next_wake(), copy.next_wake(), "a copy went another way at {step:?}");
    }
}

fn drive(rp: &mut impl ReactionPoint, now: Instant, step: &RpStep, dice: &mut Dice) -> Stamp {
    match step {
        RpStep::Pass(_) => {}
        RpStep::Sent(size, backlog) => return rp.on_sent(now, *size, *backlog, dice),
        RpStep::Hear(signal) => rp.on_signal(now, signal, dice),
        RpStep::Transport(event, acknowledged, in_flight) => {
            let flight = Flight {
                acknowledged: *acknowledged,
                sent: Bytes::new(acknowledged.get() + in_flight.get()),
                in_flight: *in_flight,
                early: Bytes::ZERO,
            };
            event.tell(rp, now, &flight, dice);
        }
        RpStep::Wake => rp.on_wake(now, dice),
    }
    Stamp::default()
}

/// Whether a signal can only mean "slower": nothing in it tells of room.
fn congested(signal: &Signal) -> bool {
    match signal {
        Signal::Cnm(_)
        | Signal::Echo(_)
        | Signal::PushBack(_)
        | Signal::Cnp
        | Signal::ReceivedRate(_)
        | Signal::SourcePause(_) => true,
        Signal::Bcn(Bcn { q_offset, q_delta, stop, .. }) => *stop || (*q_offset < 0 && *q_delta >= 0),
        Signal::Answer(Answer { q_offset, q_delta, .. }) => *q_offset < 0 && *q_delta >= 0,
        Signal::Reflection(fb) => *fb < 0,
        Signal::QueueLen(_) | Signal::Returned(_) | Signal::Credit(_) => false,
    }
}

/// Drives a congestion point on a port of 10 Gb/s and checks after every step:
///
/// 1. It sends only the kinds of signal it declares, each with its own number.
/// 2. Quantized feedback is from 1 to 255.
/// 3. Frames that are not under congestion control are never answered or marked, discarded ones never marked.
/// 4. A mark of an arrival is above 0. A congestion point that does not declare to mark departures marks none.
/// 5. The rate of a probe is lowered or left. An answer carries the time at which the probe was sent. A probe for
///    another congestion point leaves as it came.
/// 6. Telemetry is of the present or rounded down from it.
/// 7. The same steps on a copy lead to the same answers, also where the copy counts frames by the fast path and is not
///    shown departures that mean nothing.
///
/// # Panics
/// When a law is broken.
pub fn congestion_point<C: CongestionPoint + CpFastPath + Clone>(
    fresh: &C,
    id: CpId,
    speaks: &[SignalKind],
    capacity: Bytes,
    steps: &[CpStep],
) {
    let (mut cp, mut copy) = (fresh.clone(), fresh.clone());
    let (mut rolls, mut copy_rolls) = (dice(), dice());
    let mut now = Instant::ZERO;
    let queue = |len| Queue { len, capacity, rate: BitRate::gbps(10) };
    for step in steps {
        now += Span::from_us(1);
        match step {
            CpStep::Frame(frame, len) => {
                let after = len.saturating_sub(frame.size);
                let ignored = copy.ignores_departures_up_to(queue(after).rate).is_some_and(|most| after <= most);
                cp.on_departure(now, after);
                if !ignored {
                    copy.on_departure(now, after);
                }
                let answer = cp.on_arrival(now, frame, queue(*len), &mut rolls);
                let again = match copy.count_only(frame.controlled, frame.admitted, frame.size) {
                    true => CpAction::Nothing,
                    false => copy.on_arrival(now, frame, queue(*len), &mut copy_rolls),
                };
                assert_eq!(answer, again, "a copy went another way");
                assert!(!copy.ignores_arrivals() || answer == CpAction::Nothing, "an arrival is ignored that counts");
                check_action(frame, answer, id, speaks);
                let mark = cp.departure_mark(now, frame.controlled, queue(after), &mut rolls);
                let again = match ignored {
                    true => 0,
                    false => copy.departure_mark(now, frame.controlled, queue(after), &mut copy_rolls),
                };
                assert_eq!(mark, again, "a copy went another way");
                let (stamp, other) =
                    (cp.departure_stamp(now, *len, queue(after)), copy.departure_stamp(now, *len, queue(after)));
                assert_eq!(stamp, other, "a copy went another way");
                assert!(!ignored || !cp.capabilities().stamps_departures, "a departure is ignored that is stamped");
                assert!(stamp.left_at <= now && stamp.sent <= *len && stamp.queue <= after, "{stamp:?} says too much");
                let code = cp.departure_code(now, *len, queue(after), &mut rolls);
                let again = copy.departure_code(now, *len, queue(after), &mut copy_rolls);
                assert_eq!(code, again, "a copy went another way");
                assert!(code == 0 || cp.capabilities().codes_departures, "it writes codes and does not declare it");
                assert!(!ignored || !cp.capabilities().codes_departures, "a departure is ignored that has a code");
                assert!(
                    mark == 0 || (cp.capabilities().marks_departures && frame.controlled),
                    "a departure was marked {mark}"
                );
            }
            CpStep::Pause(paused, frames) => {
                if cp.capabilities().sees_pauses {
                    cp.on_pause(now, *paused, *frames);
                    copy.on_pause(now, *paused, *frames);
                }
            }
            CpStep::Probe(probe, len) => {
                let (mut seen, mut copied) = (*probe, *probe);
                let answer = cp.on_probe(now, &mut seen, queue(*len));
                assert_eq!(answer, copy.on_probe(now, &mut copied, queue(*len)), "a copy went another way");
                assert_eq!(seen, copied, "a copy went another way");
                check_probe(probe, &seen, answer, id, speaks);
            }
        }
    }
}

fn check_action(frame: &Arrival, action: CpAction, id: CpId, speaks: &[SignalKind]) {
    assert!(frame.controlled || action == CpAction::Nothing, "a frame outside congestion control led to {action:?}");
    match action {
        CpAction::Nothing => {}
        CpAction::Send(signal) => check_signal(&signal, id, speaks),
        CpAction::Mark(mark) => {
            assert!(mark > 0, "a mark of 0 is none");
            assert!(frame.admitted, "a discarded frame was marked");
        }
    }
}

fn check_probe(came: &Probe, left: &Probe, action: ProbeAction, id: CpId, speaks: &[SignalKind]) {
    assert!(left.rate <= came.rate, "a probe's rate was raised to {}", left.rate);
    assert_eq!(Probe { rate: came.rate, ..*left }, *came, "more than the rate of a probe was changed");
    let for_me = matches!(came.kind, ProbeKind::Path) || came.kind == ProbeKind::Directed(id);
    if !for_me {
        assert_eq!((action, left), (ProbeAction::Pass, came), "a probe for another congestion point was touched");
    }
    if let ProbeAction::Answer(signal) = action {
        check_signal(&signal, id, speaks);
        if let Signal::Answer(answer) = signal {
            assert_eq!(answer.asked_at, came.asked_at, "an answer to another probe");
        }
    }
}

/// Checks what holds for any signal of congestion point `id`.
fn check_signal(signal: &Signal, id: CpId, speaks: &[SignalKind]) {
    assert!(speaks.contains(&signal.kind()), "{signal:?} is not a kind it declares");
    match signal {
        Signal::Cnm(cnm) => {
            assert!(cnm.quantized_fb > 0, "a message without feedback: {cnm:?}");
            assert_eq!(cnm.cp, id);
        }
        Signal::Bcn(bcn) => assert_eq!(bcn.cp, id),
        Signal::Echo(cp) | Signal::PushBack(cp) => assert_eq!(*cp, id),
        Signal::QueueLen(message) => assert_eq!(message.cp, id),
        Signal::Answer(answer) => assert_eq!(answer.cp, id),
        Signal::SourcePause(pause) => assert_eq!(pause.cp, id),
        Signal::Cnp | Signal::Returned(_) | Signal::Reflection(_) | Signal::ReceivedRate(_) | Signal::Credit(_) => {
            panic!("{signal:?} is a receiver's to send")
        }
    }
}

/// Drives a notification point and checks after every step:
///
/// 1. It sends only the kinds of signal it declares.
/// 2. It answers marked frames under congestion control, each at most once, at that frame or a later one.
/// 3. A probe comes back as it arrived.
/// 4. It changes an acknowledgement only if it declares that, and never marks more packets than there are.
/// 5. The same steps on a copy lead to the same answers.
///
/// # Panics
/// When a law is broken.
pub fn notification_point<N: NotificationPoint + Clone>(fresh: &N, speaks: &[SignalKind], steps: &[NpStep]) {
    let (mut np, mut copy) = (fresh.clone(), fresh.clone());
    let mut now = Instant::ZERO;
    let mut marked = false;
    for step in steps {
        if let NpStep::Frame(frame) = step {
            marked |= frame.controlled && frame.mark > 0;
        }
        let (answer, again) = match step {
            NpStep::Pass(span) => {
                now += *span;
                continue;
            }
            NpStep::Frame(frame) => (np.on_frame(now, frame), copy.on_frame(now, frame)),
            NpStep::Probe(probe) => (np.on_probe(now, probe), copy.on_probe(now, probe)),
        };
        assert_eq!(answer, again, "a copy went another way");
        check_acknowledging(&mut np, &mut copy, now);
        let Some(signal) = answer else { continue };
        assert!(speaks.contains(&signal.kind()), "{signal:?} is not a kind it declares");
        match step {
            NpStep::Frame(frame) => {
                assert!(marked, "{frame:?} was answered, and no mark came since the last answer");
                marked = false;
            }
            NpStep::Probe(probe) => assert_eq!(signal, Signal::Returned(*probe), "a probe came back changed"),
            NpStep::Pass(_) => {}
        }
    }
}

fn check_acknowledging(np: &mut impl NotificationPoint, copy: &mut impl NotificationPoint, now: Instant) {
    let plain = Echo { packets: 2, marked: 1, delay: Span::ZERO, credit: None };
    let (mut echo, mut other) = (plain, plain);
    np.on_acknowledging(now, &mut echo);
    copy.on_acknowledging(now, &mut other);
    assert_eq!(echo, other, "a copy went another way");
    assert!(echo == plain || np.shapes_acknowledgements(), "it changed an acknowledgement and does not declare it");
    assert!(echo.marked <= echo.packets, "{echo:?} echoes more marks than packets");
}
