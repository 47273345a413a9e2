//! How a port defends the congestion notification domain: what it tells its neighbour by LLDP, what it hears, and the
//! mode that follows for each priority (IEEE 802.1Q clauses 32.4 and 33.5).
//!
//! An automatic port is an edge until its neighbour announces the priority, then interior; it is interior ready when the
//! neighbour is ready as well. It goes back when the neighbour has not been heard for its time to live. Time is passed
//! in, and frames are handed over and taken.

use qcnlab_scenario::{DefenceMode, PortDefence};
use qcnlab_wire::{CnTlv, Codec, Frame, Lldp, MacAddress, Payload, Tlv};

/// How often a port announces itself, ps: LLDP's interval while neighbours are new.
const EVERY: u64 = 1_000_000_000_000;
/// For how many seconds an announcement holds: four intervals.
const HOLDS_S: u16 = 4;

/// The mode of a port for one priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Not under congestion control here.
    Disabled,
    /// Frames that come in get another priority, and frames leave without CN-TAG.
    Edge,
    /// Frames keep their priority, and leave without CN-TAG.
    Interior,
    /// Frames keep their priority and their CN-TAG.
    InteriorReady,
}

impl Mode {
    /// As scenario files call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Disabled => "disabled",
            Mode::Edge => "edge",
            Mode::Interior => "interior",
            Mode::InteriorReady => "interior_ready",
        }
    }
}

/// What a port does for the domain, and what it has heard.
#[derive(Clone, Debug)]
pub(crate) struct DefendedPort {
    defence: PortDefence,
    /// What the neighbour announced.
    heard: CnTlv,
    /// Until when that holds, ps.
    heard_until: u64,
    /// What was announced last.
    told: Option<CnTlv>,
    next_announcement: u64,
    /// When a mode changed last, ps.
    pub(crate) settled_at: u64,
    /// Announcements heard.
    pub(crate) announcements: u64,
}

impl DefendedPort {
    pub(crate) fn new(defence: PortDefence) -> DefendedPort {
        DefendedPort {
            defence,
            heard: CnTlv::default(),
            heard_until: 0,
            told: None,
            next_announcement: 0,
            settled_at: 0,
            announcements: 0,
        }
    }

    /// The mode for a priority.
    pub(crate) fn mode(&self, class: u8) -> Mode {
        let bit = 1 << (class & 7);
        match self.defence.choices[usize::from(class & 7)] {
            DefenceMode::Disabled => Mode::Disabled,
            DefenceMode::Edge => Mode::Edge,
            DefenceMode::Interior => Mode::Interior,
            DefenceMode::InteriorReady => Mode::InteriorReady,
            DefenceMode::Auto if self.heard.cnpv & bit == 0 => Mode::Edge,
            DefenceMode::Auto if self.heard.ready & bit == 0 => Mode::Interior,
            DefenceMode::Auto => Mode::InteriorReady,
        }
    }

    /// The priority that frames of `class` get when they come in.
    pub(crate) fn priority_inside(&self, class: u8) -> u8 {
        if self.mode(class) == Mode::Edge { self.defence.alternates[usize::from(class & 7)] } else { class }
    }

    /// Whether frames of `class` leave without their CN-TAG.
    pub(crate) fn untags(&self, class: u8) -> bool {
        matches!(self.mode(class), Mode::Edge | Mode::Interior)
    }

    /// Whether each priority has the mode that the scenario says it settles to.
    pub(crate) fn is_settled(&self) -> bool {
        let settled = |class: u8| match self.defence.settled[usize::from(class)] {
            DefenceMode::Edge => Mode::Edge,
            DefenceMode::Interior => Mode::Interior,
            DefenceMode::InteriorReady => Mode::InteriorReady,
            DefenceMode::Disabled | DefenceMode::Auto => Mode::Disabled,
        };
        (0..8).all(|class| self.mode(class) == settled(class))
    }

    /// What it announces: the priorities under congestion control, and those that it no longer remaps.
    pub(crate) fn announcement(&self) -> CnTlv {
        let passes = |class: u8| matches!(self.mode(class), Mode::Interior | Mode::InteriorReady);
        let passing = (0..8).filter(|class| passes(*class)).fold(0, |bits, class| bits | 1 << class);
        let PortDefence { announces, accepts_cn_tags, .. } = self.defence;
        CnTlv { cnpv: announces, ready: announces & accepts_cn_tags & passing }
    }

    /// The neighbour announced something, for so many seconds; `None` is one that takes no part.
    pub(crate) fn hear(&mut self, now: u64, announced: Option<CnTlv>, seconds: u16) {
        self.announcements += 1;
        let announced = announced.unwrap_or_default();
        self.heard_until = now.saturating_add(u64::from(seconds).saturating_mul(1_000_000_000_000));
        self.change(now, if seconds == 0 { CnTlv::default() } else { announced });
    }

    fn change(&mut self, now: u64, heard: CnTlv) {
        if self.heard != heard {
            self.heard = heard;
            self.settled_at = now;
        }
    }

    /// What has to be announced at `now`, if anything has: it is time, or it is no longer what was announced.
    pub(crate) fn announcement_due(&mut self, now: u64) -> Option<CnTlv> {
        if now >= self.heard_until {
            self.change(now, CnTlv::default());
        }
        let own = self.announcement();
        if now < self.next_announcement && self.told == Some(own) {
            return None;
        }
        self.told = Some(own);
        self.next_announcement = now + EVERY;
        Some(own)
    }

    /// When it has to be looked at next, ps.
    pub(crate) fn next_deadline(&self) -> u64 {
        let forgets = if self.heard == CnTlv::default() { u64::MAX } else { self.heard_until };
        self.next_announcement.min(forgets)
    }
}

/// What a port came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefenceEnd {
    /// The port.
    pub port: String,
    /// The mode for each priority under congestion control, as scenario files call it.
    pub modes: Vec<(u8, &'static str)>,
    /// When a mode changed last, ps.
    pub settled_at: u64,
    /// Announcements heard from the neighbour.
    pub announcements: u64,
    /// Whether the modes are those that the scenario says LLDP settles.
    pub as_settled: bool,
}

impl DefenceEnd {
    pub(crate) fn of(port: &DefendedPort, name: &str) -> DefenceEnd {
        let modes = (0..8).map(|class| (class, port.mode(class))).filter(|(_, mode)| *mode != Mode::Disabled);
        DefenceEnd {
            port: name.to_owned(),
            modes: modes.map(|(class, mode)| (class, mode.name())).collect(),
            settled_at: port.settled_at,
            announcements: port.announcements,
            as_settled: port.is_settled(),
        }
    }
}

/// The frame by which a port of a node tells what it announces.
pub(crate) fn frame_of(announced: CnTlv, source: MacAddress, port: &str, system: &str) -> Vec<u8> {
    let short = |text: &str| text.as_bytes()[..text.len().min(255)].to_vec();
    let (port, system) = (short(port), short(system));
    let tlvs = [
        Tlv::ChassisId { subtype: 4, id: &source.0 },
        Tlv::PortId { subtype: 5, id: &port },
        Tlv::TimeToLive(HOLDS_S),
        Tlv::SystemName(&system),
        Tlv::CongestionNotification(announced),
    ];
    // One that announces nothing has no such TLV.
    let count = if announced.cnpv == 0 { tlvs.len() - 1 } else { tlvs.len() };
    let (mut room, mut octets) = ([0; 1024], [0; 1100]);
    let written = Lldp::build(&tlvs[..count], &mut room)
        .and_then(|unit| Frame::new(MacAddress::LLDP, source, Payload::Lldp(unit)).encode_padded(&mut octets));
    octets[..written.unwrap_or(0)].to_vec()
}

/// What a neighbour announced in a frame: its congestion notification TLV, and for how many seconds it holds.
///
/// # Errors
/// When the frame is no LLDP data unit that can be read.
pub(crate) fn read(octets: &[u8]) -> Result<(Option<CnTlv>, u16), String> {
    let (frame, _) = Frame::decode(octets).map_err(|error| error.to_string())?;
    let Payload::Lldp(unit) = frame.payload else { return Err("no LLDP".to_owned()) };
    let (mut announced, mut seconds) = (None, 0);
    for tlv in unit.tlvs() {
        match tlv {
            Tlv::CongestionNotification(tlv) => announced = Some(tlv),
            Tlv::TimeToLive(holds) => seconds = holds,
            _ => {}
        }
    }
    Ok((announced, seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000_000;

    /// Priority 3 is under congestion control, and 2 is its alternate.
    fn automatic() -> DefendedPort {
        let mut choices = [DefenceMode::Disabled; 8];
        choices[3] = DefenceMode::Auto;
        let defence =
            PortDefence { choices, announces: 1 << 3, accepts_cn_tags: 1 << 3, alternates: [2; 8], settled: choices };
        DefendedPort::new(defence)
    }

    #[test]
    fn two_ports_settle_in_two_exchanges() {
        let (mut near, mut far) = (automatic(), automatic());
        assert_eq!((near.mode(3), near.priority_inside(3), near.untags(3)), (Mode::Edge, 2, true));
        assert_eq!((near.mode(0), near.priority_inside(0), near.untags(0)), (Mode::Disabled, 0, false));
        let first = near.announcement_due(0).expect("it announces itself at once");
        assert_eq!(first, CnTlv { cnpv: 8, ready: 0 });
        far.hear(1, Some(first), 4);
        assert_eq!((far.mode(3), far.priority_inside(3), far.untags(3)), (Mode::Interior, 3, true));
        let second = far.announcement_due(1).expect("it is ready now");
        assert_eq!(second, CnTlv { cnpv: 8, ready: 8 });
        near.hear(2, Some(second), 4);
        assert_eq!((near.mode(3), near.untags(3)), (Mode::InteriorReady, false));
        far.hear(3, near.announcement_due(2), 4);
        assert_eq!((far.mode(3), far.settled_at), (Mode::InteriorReady, 3));
        assert_eq!((far.announcement_due(4), near.announcement_due(4)), (None, None), "nothing is new");
    }

    #[test]
    fn a_neighbour_that_falls_silent_or_says_goodbye_makes_the_port_an_edge_again() {
        let mut port = automatic();
        port.hear(0, Some(CnTlv { cnpv: 8, ready: 8 }), 4);
        port.announcement_due(3 * S);
        assert_eq!((port.mode(3), port.next_deadline()), (Mode::InteriorReady, 4 * S));
        port.announcement_due(4 * S);
        assert_eq!((port.mode(3), port.settled_at), (Mode::Edge, 4 * S));
        port.hear(5 * S, Some(CnTlv { cnpv: 8, ready: 8 }), 4);
        port.hear(6 * S, Some(CnTlv { cnpv: 8, ready: 8 }), 0);
        assert_eq!(port.mode(3), Mode::Edge);
        // A neighbour that takes no part announces nothing of the kind.
        port.hear(7 * S, None, 4);
        assert_eq!(port.mode(3), Mode::Edge);
    }

    #[test]
    fn what_is_announced_is_what_is_heard() {
        let tlv = CnTlv { cnpv: 8, ready: 8 };
        let octets = frame_of(tlv, MacAddress::local(5), "right->old", "right");
        assert_eq!(octets[..14], [0x01, 0x80, 0xC2, 0, 0, 0x0E, 2, 0, 0, 0, 0, 5, 0x88, 0xCC]);
        assert_eq!(read(&octets), Ok((Some(tlv), 4)));
        assert_eq!(read(&frame_of(CnTlv::default(), MacAddress::local(5), "right->old", "right")), Ok((None, 4)));
        for length in 0..octets.len() {
            let _ = read(&octets[..length]);
        }
    }
}
