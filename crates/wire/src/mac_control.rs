//! MAC control frames: PAUSE (IEEE 802.3 Annex 31B) and PFC (Annex 31D, 802.1Qbb).
//!
//! They go to 01-80-C2-00-00-01 without a tag, padded with zeros to 60 octets; the padding belongs to the frame.
//!
//! ```text
//! octet  0  2      opcode       0x0001 PAUSE             0x0101 PFC
//!        2  2      pause time   in quanta                class-enable vector, bit n for priority n
//!        4  8 x 2               -                        times of priorities 0 to 7, in quanta
//! ```

use crate::codec::{Codec, Reader, Writer};
use crate::error::{Format, WireError};
use qcnlab_units::{BitRate, Span};
use std::fmt;

/// A pause time in quanta of 512 bit times of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quanta(pub u16);

impl Quanta {
    /// Bit times in a quantum.
    pub const BITS: u64 = 512;

    /// Returns how long it is on a link of `rate`, to the picosecond below. A link without rate pauses for ever.
    pub const fn span_rounded_down(self, rate: BitRate) -> Span {
        if rate.get() == 0 {
            return if self.0 == 0 { Span::ZERO } else { Span::MAX };
        }
        // At most 65 535 * 512 * 10^12 = 3.4 * 10^19, more than 64 bits hold.
        let ps = self.0 as u128 * Self::BITS as u128 * 1_000_000_000_000 / rate.get() as u128;
        Span::from_ps(if ps > u64::MAX as u128 { u64::MAX } else { ps as u64 })
    }

    /// Returns the fewest quanta that last at least `span` on a link of `rate`; 65 535 where none do.
    pub const fn lasting(span: Span, rate: BitRate) -> Quanta {
        let quantum = Self::BITS as u128 * 1_000_000_000_000;
        let quanta = (span.ps() as u128 * rate.get() as u128).div_ceil(quantum);
        Quanta(if quanta > u16::MAX as u128 { u16::MAX } else { quanta as u16 })
    }
}

impl fmt::Display for Quanta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Stops the whole link for a time; a time of 0 lets it go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pause {
    /// For how long.
    pub time: Quanta,
}

/// Stops priorities of a link, each for its own time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pfc {
    /// High octet of the class-enable vector; sent 0.
    pub reserved: u8,
    /// The priorities that the frame sets: bit n for priority n.
    pub enabled: u8,
    /// Times of priorities 0 to 7. Those that are not enabled mean nothing.
    pub times: [Quanta; 8],
}

impl Pfc {
    /// Returns the frame that gives `time` to each priority whose bit is set in `enabled`.
    pub const fn new(enabled: u8, time: Quanta) -> Pfc {
        let mut times = [Quanta(0); 8];
        let mut priority = 0;
        while priority < 8 {
            if enabled >> priority & 1 == 1 {
                times[priority] = time;
            }
            priority += 1;
        }
        Pfc { reserved: 0, enabled, times }
    }

    /// Returns the time that the frame sets for `priority`, if it sets one.
    pub fn time(&self, priority: u8) -> Option<Quanta> {
        let time = self.times.get(usize::from(priority))?;
        (self.enabled >> priority & 1 == 1).then_some(*time)
    }
}

/// A MAC control frame's content, behind EtherType 0x8808.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MacControl<'a> {
    /// Opcode 0x0001.
    Pause(Pause),
    /// Opcode 0x0101.
    Pfc(Pfc),
    /// Another opcode, and everything behind it.
    Other {
        /// The opcode.
        opcode: u16,
        /// What follows, padding included.
        octets: &'a [u8],
    },
}

const PAUSE: u16 = 0x0001;
const PFC: u16 = 0x0101;

impl<'a> Codec<'a> for MacControl<'a> {
    const FORMAT: Format = Format::MacControl;

    fn read(from: &mut Reader<'a>) -> Result<MacControl<'a>, WireError> {
        Ok(match from.u16(Self::FORMAT)? {
            PAUSE => MacControl::Pause(Pause { time: Quanta(from.u16(Self::FORMAT)?) }),
            PFC => {
                let [reserved, enabled] = from.array(Self::FORMAT)?;
                let mut times = [Quanta(0); 8];
                for time in &mut times {
                    *time = Quanta(from.u16(Self::FORMAT)?);
                }
                MacControl::Pfc(Pfc { reserved, enabled, times })
            }
            opcode => MacControl::Other { opcode, octets: from.rest() },
        })
    }

    fn encoded_len(&self) -> usize {
        match self {
            MacControl::Pause(_) => 4,
            MacControl::Pfc(_) => 20,
            MacControl::Other { octets, .. } => 2 + octets.len(),
        }
    }

    fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        match self {
            MacControl::Pause(pause) => {
                to.put(Self::FORMAT, &PAUSE.to_be_bytes())?;
                to.put(Self::FORMAT, &pause.time.0.to_be_bytes())
            }
            MacControl::Pfc(pfc) => {
                to.put(Self::FORMAT, &PFC.to_be_bytes())?;
                to.put(Self::FORMAT, &[pfc.reserved, pfc.enabled])?;
                pfc.times.iter().try_for_each(|time| to.put(Self::FORMAT, &time.0.to_be_bytes()))
            }
            MacControl::Other { opcode, octets } => {
                to.put(Self::FORMAT, &opcode.to_be_bytes())?;
                to.put(Self::FORMAT, octets)
            }
        }
    }
}

impl fmt::Display for MacControl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MacControl::Pause(pause) => write!(f, "PAUSE {} quanta", pause.time),
            MacControl::Pfc(pfc) => {
                f.write_str("PFC")?;
                let times = (0..8).filter_map(|priority| pfc.time(priority).map(|time| (priority, time)));
                let mut sep = "";
                for (priority, time) in times {
                    write!(f, "{sep} priority {priority} {time} quanta")?;
                    sep = ",";
                }
                Ok(())
            }
            MacControl::Other { opcode, octets } => {
                write!(f, "MAC control opcode {opcode:#06x}, {} octets", octets.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 512 bit times are 51.2 ns at 10 Gb/s and 5.12 us at 100 Mb/s; 65 535 of them 3.355 392 ms and 335.5392 ms.
    #[test]
    fn quanta_are_512_bit_times() {
        let ten_g = BitRate::gbps(10);
        assert_eq!(Quanta(1).span_rounded_down(ten_g), Span::from_ps(51_200));
        assert_eq!(Quanta(65_535).span_rounded_down(ten_g), Span::from_ps(3_355_392_000));
        assert_eq!(Quanta(1).span_rounded_down(BitRate::mbps(100)), Span::from_ns(5_120));
        // Deck 003: 96 us at 10 Gb/s are 96 000 / 51.2 = 1875 quanta.
        assert_eq!(Quanta::lasting(Span::from_us(96), ten_g), Quanta(1875));
        assert_eq!(Quanta::lasting(Span::from_ps(96_000_001), ten_g), Quanta(1876));
        assert_eq!(Quanta::lasting(Span::MAX, ten_g), Quanta(u16::MAX));
        assert_eq!(Quanta(2).span_rounded_down(BitRate::bps(0)), Span::MAX);
    }

    /// At 1 b/s a quantum is 512 s. 2^64 ps are 18 446 744.07 s: 36 028 quanta (18 446 336 s) fit, 36 029 (18 446 848 s)
    /// do not.
    #[test]
    fn a_pause_longer_than_any_span_is_the_longest() {
        let slow = BitRate::bps(1);
        assert_eq!(Quanta(36_028).span_rounded_down(slow), Span::from_ps(18_446_336_000_000_000_000));
        assert_eq!(Quanta(36_029).span_rounded_down(slow), Span::MAX);
        assert_eq!(Quanta(65_535).span_rounded_down(slow), Span::MAX);
        assert_eq!(Quanta(0).span_rounded_down(BitRate::ZERO), Span::ZERO);
    }

    /// 65 534 * 51.2 ns = 3.355 3408 ms; a picosecond more asks for one quantum more, and 65 535 are the most.
    #[test]
    fn quanta_stop_at_16_bits() {
        let ten_g = BitRate::gbps(10);
        for (ps, quanta) in [
            (0, 0),
            (1, 1),
            (3_355_340_800, 65_534),
            (3_355_340_801, 65_535),
            (3_355_392_000, 65_535),
            (3_355_392_001, 65_535),
        ] {
            assert_eq!(Quanta::lasting(Span::from_ps(ps), ten_g), Quanta(quanta), "{ps}");
        }
    }

    #[test]
    fn a_priority_that_is_not_enabled_has_no_time() {
        let pfc = Pfc { times: [Quanta(7); 8], ..Pfc::new(0b0000_1000, Quanta(7)) };
        assert_eq!((pfc.time(3), pfc.time(4), pfc.time(8)), (Some(Quanta(7)), None, None));
    }
}
