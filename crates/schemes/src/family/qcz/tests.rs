use super::*;
use crate::dice::Dice;
use crate::facts::FlowId;
use crate::isolation::{IsolatedFrame, IsolationPoint, IsolationQueue, IsolationQueues};
use crate::registry::Config;
use crate::testing::{LINE, dice, us};
use IsolationQueue::{Congesting, Monitored};
use proptest::prelude::*;
use qcnlab_units::Instant;

const LIFE: Span = Span::from_us(100);

/// A threshold of 3000 octets, two messages 10 us apart, four flows; a flow that a neighbour told of lives for 1 ms.
const PARAMS: QczCpParams = QczCpParams {
    threshold: Bytes::new(3000),
    max_cim_tx: 2,
    max_streams: 4,
    max_flow_life: Span::from_ms(1),
    ..CP_IEEE_8021QCZ
};

fn port() -> QczPort {
    QczPort::new(PARAMS)
}

fn queues(monitored: u64, congesting: u64) -> IsolationQueues {
    IsolationQueues { monitored: Bytes::new(monitored), congesting: Bytes::new(congesting) }
}

/// A frame of `flow` comes from a neighbour's monitored queue and finds queues of these lengths, itself included: which it
/// joins, and whether the neighbour is told.
fn comes(port: &mut QczPort, at: Instant, flow: u32, lens: (u64, u64)) -> (IsolationQueue, bool) {
    let queue = port.queue_for(at, FlowId(flow));
    let frame = IsolatedFrame { flow: FlowId(flow), queue, from_monitored: true };
    (queue, port.on_enqueue(at, &frame, queues(lens.0, lens.1), &mut dice()))
}

/// The frame that makes a flow a congesting one stays where it is, and the next one joins the other queue. Up to the threshold
/// nothing is done, and another flow is left alone.
#[test]
fn a_flow_that_finds_the_queue_long_is_isolated() {
    let mut port = port();
    assert_eq!(comes(&mut port, us(0), 1, (3000, 0)), (Monitored, false));
    assert_eq!(comes(&mut port, us(0), 1, (3001, 0)), (Monitored, true));
    assert_eq!(comes(&mut port, us(0), 1, (3001, 1000)), (Congesting, false));
    assert_eq!(comes(&mut port, us(0), 2, (2000, 1000)), (Monitored, false));
    // A threshold away from the default of 50 KB, and the default.
    let tells = |threshold, len| {
        let mut port = QczPort::new(QczCpParams { threshold: Bytes::new(threshold), ..CP_IEEE_8021QCZ });
        comes(&mut port, us(0), 1, (len, 0)).1
    };
    assert_eq!(
        [(0, 0), (0, 1), (50_000, 50_000), (50_000, 50_001)].map(|(k, len)| tells(k, len)),
        [false, true, false, true]
    );
}

/// Of 3000 frames that find the queue long, each of another flow, a quarter are taken: 750, standard deviation 24.
#[test]
fn frames_count_with_their_probability() {
    let mut port = QczPort::new(QczCpParams { probability: 0.25, max_streams: 3000, ..PARAMS });
    let mut dice = dice();
    let mut come = |flow| {
        let frame = IsolatedFrame { flow: FlowId(flow), queue: Monitored, from_monitored: true };
        port.on_enqueue(us(0), &frame, queues(3001, 0), &mut dice)
    };
    let told = (0..3000).filter(|flow| come(*flow)).count();
    assert!(told.abs_diff(750) < 100, "{told}");
    assert_eq!(port.streams.len(), told);
}

/// Twice, 10 us apart, and only of frames that the neighbour had in its monitored queue.
#[test]
fn a_neighbour_is_told_a_few_times() {
    let mut port = port();
    assert!(comes(&mut port, us(0), 1, (4000, 0)).1);
    assert!(!comes(&mut port, us(9), 1, (4000, 1000)).1);
    let isolated = IsolatedFrame { flow: FlowId(1), queue: Congesting, from_monitored: false };
    assert!(!port.on_enqueue(us(10), &isolated, queues(4000, 2000), &mut dice()));
    assert!(comes(&mut port, us(10), 1, (4000, 3000)).1);
    assert!(!comes(&mut port, us(60), 1, (4000, 4000)).1);
    let mut silent = QczPort::new(QczCpParams { max_cim_tx: 0, ..PARAMS });
    assert_eq!(comes(&mut silent, us(0), 1, (4000, 0)), (Monitored, false));
    assert_eq!(comes(&mut silent, us(0), 1, (4000, 1000)), (Congesting, false));
}

/// What a neighbour told of is isolated, and told further upstream once it makes the congesting queue long here, too.
#[test]
fn a_message_isolates_a_flow_and_goes_no_further_by_itself() {
    let mut port = port();
    port.on_message(us(0), FlowId(1));
    assert_eq!(comes(&mut port, us(1), 1, (0, 3000)), (Congesting, false));
    assert_eq!(comes(&mut port, us(2), 1, (9000, 3000)), (Congesting, false));
    assert_eq!(comes(&mut port, us(3), 1, (0, 3001)), (Congesting, true));
}

/// Two frames of the flow are in the monitored queue when it is isolated. Its third waits for both; another flow's does not.
#[test]
fn order_is_kept() {
    let mut port = port();
    let _ = comes(&mut port, us(0), 1, (2000, 0));
    let _ = comes(&mut port, us(0), 1, (4000, 0));
    assert_eq!(comes(&mut port, us(1), 1, (4000, 1000)).0, Congesting);
    let may_leave = |port: &QczPort| [1, 2].map(|flow| port.may_leave(FlowId(flow)));
    assert_eq!(may_leave(&port), [false, true]);
    port.on_dequeue(us(2), FlowId(1), Monitored);
    assert_eq!(may_leave(&port), [false, true]);
    port.on_dequeue(us(3), FlowId(1), Monitored);
    assert_eq!(may_leave(&port), [true, true]);
    assert!(port.monitored.is_empty());
}

/// The congesting queue is empty from 50 us on: 100 us later the flow is as any other. Not while a frame waits, and the time
/// counts from when the flow was isolated if that is later.
#[test]
fn a_flow_that_the_port_found_is_isolated_for_a_while() {
    let mut port = port();
    let _ = comes(&mut port, us(0), 1, (4000, 0));
    let mut unused = port.clone();
    assert_eq!([99, 100].map(|at| unused.queue_for(us(at), FlowId(1))), [Congesting, Monitored]);
    assert_eq!(comes(&mut port, us(1), 1, (2000, 1000)).0, Congesting);
    let mut waiting = port.clone();
    assert_eq!(waiting.queue_for(us(9000), FlowId(1)), Congesting);
    port.on_dequeue(us(50), FlowId(1), Congesting);
    assert_eq!([149, 150].map(|at| port.queue_for(us(at), FlowId(1))), [Congesting, Monitored]);
    assert!(port.streams.is_empty());
}

/// Ten times as long where a neighbour told of it, whoever was first. A message about a flow that is over begins anew.
#[test]
fn a_flow_that_a_neighbour_told_of_is_isolated_for_longer() {
    let mut first = port();
    first.on_message(us(0), FlowId(1));
    let mut second = port();
    let _ = comes(&mut second, us(0), 1, (4000, 0));
    second.on_message(us(0), FlowId(1));
    for port in [&mut first, &mut second] {
        assert_eq!([999, 1000].map(|at| port.queue_for(us(at), FlowId(1))), [Congesting, Monitored]);
    }
    let mut again = port();
    again.on_message(us(0), FlowId(1));
    again.on_message(us(1000), FlowId(1));
    assert_eq!([1999, 2000].map(|at| again.queue_for(us(at), FlowId(1))), [Congesting, Monitored]);
}

/// The first flow's time is over at 100 us, and then a second one comes into the empty queue: the first does not come back to
/// life because the queue has frames again.
#[test]
fn who_is_over_stays_over_when_others_come() {
    let mut port = port();
    let _ = comes(&mut port, us(0), 1, (4000, 0));
    let _ = comes(&mut port, us(90), 2, (4000, 0));
    assert_eq!(comes(&mut port, us(120), 2, (0, 1000)).0, Congesting);
    assert_eq!(port.queue_for(us(121), FlowId(1)), Monitored);
}

/// With four flows isolated a fifth is not, until one of them is over.
#[test]
fn a_full_table_takes_no_flow() {
    let mut port = port();
    (1..=4).for_each(|flow| assert!(comes(&mut port, us(0), flow, (4000, 0)).1));
    assert_eq!(comes(&mut port, us(1), 5, (4000, 0)), (Monitored, false));
    assert_eq!(comes(&mut port, us(2), 5, (4000, 0)), (Monitored, false));
    port.on_message(us(2), FlowId(6));
    assert_eq!(port.queue_for(us(2), FlowId(6)), Monitored);
    // Those that are in it may be found again.
    port.on_message(us(2), FlowId(4));
    assert!(port.streams[&FlowId(4)].by_message);
    assert_eq!(comes(&mut port, us(100), 5, (4000, 0)), (Monitored, true));
    assert_eq!(port.streams.len(), 2);
}

#[test]
fn the_congesting_class_is_the_next_one_unless_it_is_set() {
    let class =
        |set, monitored| QczPort::new(QczCpParams { congesting_priority: set, ..PARAMS }).congesting_class(monitored);
    assert_eq!([7, 3, 1, 0].map(|monitored| class(None, monitored)), [6, 2, 0, 1]);
    assert_eq!(class(Some(5), 3), 5);
}

#[test]
fn hosts_take_no_part_and_no_other_scheme_isolates() {
    use crate::roles::ReactionPoint;
    assert_eq!(Qcz::reaction_point(&NoControlRpParams {}, LINE.into()).limit(), None);
    for listing in crate::registry::catalogue() {
        let config = Config::find(listing.name, None).expect("listed means found");
        assert_eq!(config.isolation_point().is_some(), listing.name == "qcz", "{}", listing.name);
    }
}

/// Both queues with their frames as they are, whatever the law says.
#[derive(Default)]
struct Waiting {
    monitored: Vec<u32>,
    congesting: Vec<u32>,
}

proptest! {
    /// Whatever comes, leaves and is told: the frames of a flow leave in the order in which they came, a flow is told of at most
    /// `max_cim_tx` times while it is isolated, and some frame may always leave.
    #[test]
    fn frames_of_a_flow_leave_in_order(
        steps in prop::collection::vec((0..4u8, 0..6u32, any::<bool>(), 0..60u64), 1..400),
        threshold in 0..6u64,
        max_streams in 1..5u32,
    ) {
        let frame = 1000;
        let mut port = QczPort::new(QczCpParams {
            threshold: Bytes::new(threshold * frame),
            max_streams,
            max_flow_life: LIFE + LIFE,
            ..PARAMS
        });
        let mut dice: Dice = dice();
        let mut at = us(0);
        let mut waiting = Waiting::default();
        // For each flow the queues that its frames joined, in order.
        let mut order: Vec<Vec<IsolationQueue>> = vec![Vec::new(); 6];
        for (step, flow, flag, after) in steps {
            at += Span::from_us(after);
            match step {
                0 | 1 => {
                    let queue = port.queue_for(at, FlowId(flow));
                    order[flow as usize].push(queue);
                    let own = if queue == Monitored { &mut waiting.monitored } else { &mut waiting.congesting };
                    own.push(flow);
                    let lens =
                        queues(frame * waiting.monitored.len() as u64, frame * waiting.congesting.len() as u64);
                    let told = port.on_enqueue(at, &IsolatedFrame { flow: FlowId(flow), queue, from_monitored: flag }, lens, &mut dice);
                    prop_assert!(!told || flag);
                }
                2 => {
                    let held = waiting.congesting.first().is_some_and(|flow| !port.may_leave(FlowId(*flow)));
                    prop_assert!(!held || !waiting.monitored.is_empty());
                    let from_congesting = !waiting.congesting.is_empty() && !held && (flag || waiting.monitored.is_empty());
                    if waiting.monitored.is_empty() && waiting.congesting.is_empty() {
                        continue;
                    }
                    let (queue, own) = if from_congesting {
                        (Congesting, &mut waiting.congesting)
                    } else {
                        (Monitored, &mut waiting.monitored)
                    };
                    let leaving = own.remove(0);
                    port.on_dequeue(at, FlowId(leaving), queue);
                    prop_assert_eq!(order[leaving as usize].remove(0), queue);
                }
                _ => port.on_message(at, FlowId(flow)),
            }
            prop_assert!(port.streams.len() <= max_streams as usize);
            prop_assert!(port.streams.values().all(|stream| stream.told <= PARAMS.max_cim_tx));
        }
    }
}
