//! Hand-worked numbers.

use super::*;
use crate::dice::Purpose;
use crate::roles::FlowId;

const LINE: BitRate = BitRate::gbps(10);

fn dice() -> Dice {
    Dice::new(1, 0, "test", Purpose::Reaction)
}

fn ms(n: u64) -> Instant {
    Instant::ZERO + Span::from_ms(n)
}

const MESSAGE: Signal = Signal::Cnm(Cnm { cp: CpId(0), quantized_fb: 1, q_offset: -1500, q_delta: 1500 });

#[test]
fn a_message_cuts_and_the_timer_raises() {
    let mut rp = SchemeName::reaction_point(&RP_TEMPLATE, LINE.into());
    // 10 000 * (1 - 0.125) = 8750 Mb/s, again: 7656.25.
    rp.on_signal(ms(0), &MESSAGE, &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::mbps(8750)));
    rp.on_signal(ms(0), &MESSAGE, &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::bps(7_656_250_000)));
    // 20 Mb/s more at 1 ms.
    assert_eq!(rp.next_wake(), ms(1));
    rp.on_wake(ms(1), &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::bps(7_676_250_000)));
    // (10 000 - 7676.25) / 20 = 116.2: the 117th step from there reaches the line rate.
    rp.on_wake(ms(117), &mut dice());
    assert!(rp.limit().is_some());
    rp.on_wake(ms(118), &mut dice());
    assert_eq!((rp.limit(), rp.next_wake()), (None, Instant::NEVER));
}

#[test]
fn a_sample_above_the_set_point_is_told() {
    let frame = Arrival {
        flow: FlowId(0),
        size: Bytes::new(1500),
        admitted: true,
        controlled: true,
        cn_tagged: true,
        limited_by: None,
        probe: false,
        mark: 0,
    };
    // 100 frames of 1500 octets are exactly 150 000: the 101st is the sample.
    let answer = |len| {
        let mut cp = SchemeName::congestion_point(&CP_TEMPLATE, CpId(0));
        let queue = Queue { len: Bytes::new(len), capacity: Bytes::new(150_000), rate: LINE };
        (0..101).map(|_| cp.on_arrival(ms(0), &frame, queue, &mut dice())).last()
    };
    let told = Cnm { cp: CpId(0), quantized_fb: 1, q_offset: -1500, q_delta: 34_500 };
    assert_eq!(answer(34_500), Some(CpAction::Send(Signal::Cnm(told))));
    assert_eq!(answer(33_000), Some(CpAction::Nothing));
}
