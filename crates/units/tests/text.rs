//! Quantities in and out of text: exact, and clear about what is wrong.

use proptest::prelude::*;
use qcnlab_units::{BitRate, Bytes, Instant, Quantity, Span, UnitError};

fn rate(text: &str) -> Result<u64, UnitError> {
    text.parse::<BitRate>().map(BitRate::get)
}

fn size(text: &str) -> Result<u64, UnitError> {
    text.parse::<Bytes>().map(Bytes::get)
}

fn time(text: &str) -> Result<u64, UnitError> {
    text.parse::<Span>().map(Span::ps)
}

#[test]
fn every_unit_word_is_read() {
    let rates = [
        ("1 b/s", 1),
        ("1 bps", 1),
        ("1 bit/s", 1),
        ("1 Kb/s", 1_000),
        ("1 kb/s", 1_000),
        ("1 kbps", 1_000),
        ("1 Kbit/s", 1_000),
        ("5 Mb/s", 5_000_000),
        ("5Mbps", 5_000_000),
        ("5 Mbit/s", 5_000_000),
        ("0.5 Gb/s", 500_000_000),
        ("10Gbps", 10_000_000_000),
        ("10 Gbit/s", 10_000_000_000),
        ("1.6 Tb/s", 1_600_000_000_000),
        ("1 Tbps", 1_000_000_000_000),
    ];
    for (text, expected) in rates {
        assert_eq!(rate(text), Ok(expected), "{text}");
    }
    let sizes = [
        ("1500 B", 1_500),
        ("33 KB", 33_000),
        ("33 kB", 33_000),
        ("64 KiB", 65_536),
        ("1.5 MB", 1_500_000),
        ("2 MiB", 2_097_152),
        ("1 GB", 1_000_000_000),
        ("1 GiB", 1_073_741_824),
        ("0.5 KiB", 512),
        ("  150\tKB ", 150_000),
        ("1_500 B", 1_500),
    ];
    for (text, expected) in sizes {
        assert_eq!(size(text), Ok(expected), "{text}");
    }
    let times = [
        ("1 ps", 1),
        ("1.142857 us", 1_142_857),
        ("10 \u{b5}s", 10_000_000),
        ("10 \u{3bc}s", 10_000_000),
        ("15 ms", 15_000_000_000),
        ("2.5s", 2_500_000_000_000),
        ("0 s", 0),
        ("-0 s", 0),
    ];
    for (text, expected) in times {
        assert_eq!(time(text), Ok(expected), "{text}");
    }
}

#[test]
fn every_listed_unit_word_is_read() {
    for (quantity, read) in
        [(Quantity::Rate, rate as fn(&str) -> Result<u64, UnitError>), (Quantity::Size, size), (Quantity::Time, time)]
    {
        // At least a small, a middle and a large unit.
        assert!(quantity.unit_words().count() >= 3);
        for word in quantity.unit_words() {
            assert!(read(&format!("1 {word}")).is_ok(), "{word}");
        }
        assert!(read(quantity.example()).is_ok(), "{}", quantity.example());
    }
}

/// The text, the message, and the hint.
type Refusal = (&'static str, &'static str, Option<&'static str>);

fn check(read: fn(&str) -> Result<u64, UnitError>, refusals: &[Refusal]) {
    for (text, message, hint) in refusals {
        let error = read(text).expect_err(text);
        assert_eq!((error.to_string().as_str(), error.hint().as_deref()), (*message, *hint), "{text}");
    }
}

#[test]
fn a_rate_in_something_else_is_refused_with_a_hint() {
    let octets = |text: &str| rate(text).expect_err(text).hint();
    assert_eq!(octets("10 GB/s").as_deref(), Some("did you mean \"80 Gb/s\"?"));
    check(
        rate,
        &[
            ("10 GB/s", "'10 GB/s': rates are in bits a second, not in GB/s", Some("did you mean \"80 Gb/s\"?")),
            ("1.25 GBps", "'1.25 GBps': rates are in bits a second, not in GBps", Some("did you mean \"10 Gb/s\"?")),
            ("125 MB", "'125 MB': rates are in bits a second, not in MB", Some("did you mean \"1 Gb/s\"?")),
            ("3 kB/s", "'3 kB/s': rates are in bits a second, not in kB/s", Some("did you mean \"24 Kb/s\"?")),
            ("2 TB/s", "'2 TB/s': rates are in bits a second, not in TB/s", Some("did you mean \"16 Tb/s\"?")),
            ("1.6 T", "'1.6 T': rates are in bits a second, not in T", Some("did you mean \"1.6 Tb/s\"?")),
            ("100 B/s", "'100 B/s': rates are in bits a second, not in B/s", Some("did you mean \"800 b/s\"?")),
            ("10 G", "'10 G': rates are in bits a second, not in G", Some("did you mean \"10 Gb/s\"?")),
            ("10G", "'10G': rates are in bits a second, not in G", Some("did you mean \"10 Gb/s\"?")),
            ("40 Gb", "'40 Gb': rates are in bits a second, not in Gb", Some("did you mean \"40 Gb/s\"?")),
            ("40 gb/s", "'40 gb/s': rates are in bits a second, not in gb/s", Some("did you mean \"40 Gb/s\"?")),
            ("5 mbps", "'5 mbps': rates are in bits a second, not in mbps", Some("did you mean \"5 Mb/s\"?")),
            (
                "10 us",
                "'10 us': rates are in bits a second, not in us",
                Some("units of a rate are Tb/s, Gb/s, Mb/s, Kb/s, b/s"),
            ),
            ("10", "'10' has no unit: a rate needs one", Some("write the unit, as in \"10 Mb/s\" or \"10 Gb/s\"")),
            ("", "'' is not a rate", Some("write it as \"10 Gb/s\"")),
            ("fast", "'fast' is not a rate", Some("write it as \"10 Gb/s\"")),
            ("1,5 Gb/s", "'1,5 Gb/s': rates are in bits a second, not in ,5 Gb/s", Some(RATES)),
            ("-1 Gb/s", "'-1 Gb/s': a rate cannot be negative", None),
            ("\u{2212}1 Gb/s", "'\u{2212}1 Gb/s': a rate cannot be negative", None),
            ("0.5 b/s", "'0.5 b/s' is finer than one bit/s", None),
            ("99999999999 Gb/s", "'99999999999 Gb/s' is too large", None),
        ],
    );
}

const RATES: &str = "units of a rate are Tb/s, Gb/s, Mb/s, Kb/s, b/s";

#[test]
fn a_size_in_something_else_is_refused_with_a_hint() {
    check(
        size,
        &[
            ("150 Kb", "'150 Kb': sizes are in octets (B), not in Kb", Some("did you mean \"18750 B\"?")),
            ("12 kb", "'12 kb': sizes are in octets (B), not in kb", Some("did you mean \"1500 B\"?")),
            ("3 b", "'3 b': sizes are in octets (B), not in b", Some("units of a size are GB, MB, KB, B")),
            ("150 K", "'150 K': sizes are in octets (B), not in K", Some("did you mean \"150 KB\"?")),
            ("3 T", "'3 T': sizes are in octets (B), not in T", Some("did you mean \"3000 GB\"?")),
            ("1500 bytes", "'1500 bytes': sizes are in octets (B), not in bytes", Some("did you mean \"1500 B\"?")),
            ("2 mB", "'2 mB': sizes are in octets (B), not in mB", Some("did you mean \"2 MB\"?")),
            ("100 pkts", "'100 pkts': sizes are in octets (B), not in pkts", Some("units of a size are GB, MB, KB, B")),
            ("1500", "'1500' has no unit: a size needs one", Some("write the unit, as in \"1500 B\" or \"1500 KB\"")),
            ("-3 KB", "'-3 KB': a size cannot be negative", None),
            ("0.5 B", "'0.5 B' is finer than one octet", None),
            ("1.0005 KB", "'1.0005 KB' is finer than one octet", None),
        ],
    );
}

#[test]
fn a_time_in_something_else_is_refused_with_a_hint() {
    check(
        time,
        &[
            ("10 usec", "'10 usec': times are in seconds, not in usec", Some("did you mean \"10 us\"?")),
            ("15 msec", "'15 msec': times are in seconds, not in msec", Some("did you mean \"15 ms\"?")),
            ("7 nsec", "'7 nsec': times are in seconds, not in nsec", Some("did you mean \"7 ns\"?")),
            ("2.5 sec", "'2.5 sec': times are in seconds, not in sec", Some("did you mean \"2.5 s\"?")),
            ("3 seconds", "'3 seconds': times are in seconds, not in seconds", Some("did you mean \"3 s\"?")),
            ("2 min", "'2 min': times are in seconds, not in min", Some("units of a time are s, ms, us, ns, ps")),
            ("200", "'200' has no unit: a time needs one", Some("write the unit, as in \"200 us\" or \"200 ms\"")),
            ("-1 ms", "'-1 ms': a time cannot be negative", None),
            ("0.1 ps", "'0.1 ps' is finer than one picosecond", None),
            ("1. ms", "'1. ms' is not a time", Some("write it as \"15 ms\"")),
            (".5 ms", "'.5 ms' is not a time", Some("write it as \"15 ms\"")),
            ("1.2.3 ms", "'1.2.3 ms' is not a time", Some("write it as \"15 ms\"")),
        ],
    );
}

#[test]
fn quantities_print_as_a_person_writes_them() {
    assert_eq!(Bytes::new(1_500).to_string(), "1500 B");
    assert_eq!(Bytes::new(150_000).to_string(), "150 KB");
    assert_eq!(Bytes::new(1_500_000).to_string(), "1500 KB");
    assert_eq!(Bytes::new(65_536).to_string(), "65536 B");
    assert_eq!(Bytes::ZERO.to_string(), "0 B");
    assert_eq!(BitRate::mbps(1_050).to_string(), "1.05 Gb/s");
    assert_eq!(BitRate::mbps(500).to_string(), "500 Mb/s");
    assert_eq!(BitRate::ZERO.to_string(), "0 b/s");
    assert_eq!(Span::from_us(2_500_000).to_string(), "2.5 s");
    assert_eq!(Span::from_ps(1_142_857).to_string(), "1.142857 us");
    assert_eq!(Span::ZERO.to_string(), "0 s");
    assert_eq!(Instant::from_ps(1_000).to_string(), "1 ns");
    assert_eq!(format!("{:>8}|{:<8}|", Bytes::new(64), Span::from_ms(15)), "    64 B|15 ms   |");
}

#[test]
fn sending_times_are_exact_and_never_early() {
    assert_eq!(BitRate::gbps(10).time_for_rounded_up(Bytes::new(1_500)), Span::from_ns(1_200));
    // 1500 B x 8 / 1.05 Gb/s = 11.428571428... us
    assert_eq!(BitRate::mbps(1_050).time_for_rounded_up(Bytes::new(1_500)), Span::from_ps(11_428_572));
    assert_eq!(BitRate::ZERO.time_for_rounded_up(Bytes::new(1)), Span::MAX);
    assert_eq!(BitRate::gbps(10).ps_per_byte(), Some(800));
    assert_eq!(BitRate::gbps(3).ps_per_byte(), None);
    assert_eq!(BitRate::gbps(10).bytes_in_rounded_down(Span::from_ns(1_200)), Bytes::new(1_500));
}

proptest! {
    #[test]
    fn sizes_survive_text(n: u64) {
        prop_assert_eq!(Bytes::new(n).to_string().parse(), Ok(Bytes::new(n)));
    }

    #[test]
    fn rates_survive_text(n: u64) {
        prop_assert_eq!(BitRate::bps(n).to_string().parse(), Ok(BitRate::bps(n)));
    }

    #[test]
    fn times_survive_text(n: u64) {
        prop_assert_eq!(Span::from_ps(n).to_string().parse(), Ok(Span::from_ps(n)));
    }

    #[test]
    fn round_amounts_survive_text(n in 0u64..10_000, zeros in 0u32..12) {
        let n = n * 10u64.pow(zeros);
        prop_assert_eq!(Bytes::new(n).to_string().parse(), Ok(Bytes::new(n)));
        prop_assert_eq!(BitRate::bps(n).to_string().parse(), Ok(BitRate::bps(n)));
        prop_assert_eq!(Span::from_ps(n).to_string().parse(), Ok(Span::from_ps(n)));
    }

    #[test]
    fn octets_for_bits_are_the_same_rate(n in 1u64..1_000_000, prefix in prop::sample::select(vec!["", "K", "M", "G"])) {
        let hint = rate(&format!("{n} {prefix}B/s")).expect_err("octets").hint().expect("a hint");
        let meant = hint.split('"').nth(1).expect("a quoted rate");
        prop_assert_eq!(rate(meant), rate(&format!("{} {prefix}b/s", 8 * n)));
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,24}") {
        for read in [rate, size, time] {
            if let Err(error) = read(&text) {
                prop_assert!(!error.to_string().is_empty());
                error.hint();
            }
        }
    }

    #[test]
    fn a_sender_never_beats_its_rate(rate in 1u64..400_000_000_000, octets in 1u64..100_000) {
        let (rate, size) = (BitRate::bps(rate), Bytes::new(octets));
        let span = rate.time_for_rounded_up(size);
        let bit_ps = u128::from(span.ps()) * u128::from(rate.get());
        let exact = u128::from(size.bits()) * 1_000_000_000_000;
        prop_assert!(bit_ps >= exact && bit_ps - exact < u128::from(rate.get()));
    }
}

/// An exponent moves the point, exactly: 1.79e-05 s is 0.0000179 s, 17.9 us, 17,900,000 ps. Read as binary numbers these
/// would be off by a picosecond or refused as too fine.
#[test]
fn exponents_are_read_exactly() {
    let times = [
        ("1.79e-05s", 17_900_000),
        ("1e-3 s", 1_000_000_000),
        ("1E-3s", 1_000_000_000),
        ("1e-12 s", 1),
        ("0.3e+1 us", 3_000_000),
        ("12e0 ns", 12_000),
        ("1000e-3 ps", 1),
        ("0e-400 s", 0),
        ("0e400 s", 0),
        ("-0e2 s", 0),
    ];
    for (text, expected) in times {
        assert_eq!(time(text), Ok(expected), "{text}");
    }
    assert_eq!(rate("1e10 b/s"), Ok(10_000_000_000));
    assert_eq!(rate("2.5e-1 Gb/s"), Ok(250_000_000));
    assert_eq!(size("1.5e3 B"), Ok(1_500));
    assert_eq!(size("1.8446744073709551615e19 B"), Ok(u64::MAX));
}

#[test]
fn exponents_are_refused_in_words() {
    let said = |text: &str| time(text).unwrap_err().to_string();
    assert_eq!(said("1e-13 s"), "'1e-13 s' is finer than one picosecond");
    assert_eq!(said("1e-99999999999999999999 s"), "'1e-99999999999999999999 s' is finer than one picosecond");
    assert_eq!(said("1e99999999999999999999 s"), "'1e99999999999999999999 s' is too large");
    assert_eq!(said("1e8 s"), "'1e8 s' is too large");
    assert_eq!(said("1e-3"), "'1e-3' has no unit: a time needs one");
    assert_eq!(said("-1e-3 s"), "'-1e-3 s': a time cannot be negative");
    assert_eq!(said("1e s"), "'1e s': times are in seconds, not in e s");
    assert_eq!(said("e-3 s"), "'e-3 s' is not a time");
}
