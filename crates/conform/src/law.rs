//! The laws that a capture is held against: parameter sets of QCN, and single changes that explain a violation.

use super::error::ConformError;
use super::tolerances::ConformOptions;
use qcnlab_scenario::Scenario;
use qcnlab_schemes::family::qcn::{QcnCpParams, QcnRpParams};
use qcnlab_schemes::parts::sampling::Sampling;
use qcnlab_schemes::registry::{Config, catalogue};
use qcnlab_units::Span;

/// A parameter set of QCN's family.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct QcnLaw {
    /// Scheme and preset, and what was changed.
    pub(super) name: String,
    pub(super) cp: QcnCpParams,
    pub(super) rp: QcnRpParams,
}

impl QcnLaw {
    /// Bits of feedback that a CNM carries.
    const CARRIED_BITS: u32 = 6;

    /// The law that the options name.
    pub(super) fn of(options: &ConformOptions) -> Result<QcnLaw, ConformError> {
        let unknown = |text: String| ConformError::Law(text.strip_prefix("error: ").unwrap_or(&text).to_owned());
        if !catalogue().iter().any(|listing| listing.name == options.scheme) {
            return Err(unknown(format!(
                "there is no scheme {}; conform knows qcn, qcn_byte_counter and qcn_timer",
                options.scheme
            )));
        }
        if !matches!(Config::find(&options.scheme, None), Ok(Config::Qcn { .. })) {
            return Err(ConformError::NotQcn(options.scheme.clone()));
        }
        let mut changes = vec![format!("scheme.name={}", options.scheme)];
        changes.push(format!("scheme.preset={}", options.preset));
        changes.extend(options.set.iter().map(|change| format!("scheme.{change}")));
        // Any scenario will do: only its scheme counts.
        let base =
            Scenario::shipped("og-hotspot-2src-10g-to-500m-rtt10us").map_err(|error| unknown(error.to_string()))?;
        let scenario = base.with_overrides(&changes).map_err(|error| unknown(error.to_string()))?;
        let mut name = format!("{} {}", options.scheme, options.preset);
        for change in &options.set {
            name += &format!(", {change}");
        }
        QcnLaw::from_config(&scenario.scheme, name)
    }

    fn from_config(config: &Config, name: String) -> Result<QcnLaw, ConformError> {
        let Config::Qcn { cp, rp, .. } = config else { return Err(ConformError::NotQcn(config.name().to_owned())) };
        if cp.sampling != Sampling::Octets {
            return Err(ConformError::Law(format!(
                "{name} samples each frame by itself, so no sample is ever due; conform follows sampling by octets"
            )));
        }
        Ok(QcnLaw { name, cp: *cp, rp: *rp })
    }

    /// Refuses a reaction point that conform cannot follow.
    pub(super) fn with_known_timers(self) -> Result<QcnLaw, ConformError> {
        if self.rp.drift.drift_every > Span::ZERO {
            let name = self.name;
            return Err(ConformError::Law(format!("{name} has a drift timer, which conform does not follow")));
        }
        Ok(self)
    }

    /// Bits of feedback that a CNM has no room for: it carries the first 6.
    pub(super) const fn spare_bits(&self) -> u32 {
        self.cp.fb_bits.saturating_sub(Self::CARRIED_BITS)
    }

    /// The largest feedback.
    pub(super) const fn levels(&self) -> u8 {
        ((1 << self.cp.fb_bits) - 1) as u8
    }

    /// All parameter sets.
    pub(super) fn presets() -> Vec<QcnLaw> {
        let of = |scheme: &'static str, preset: &'static str| {
            let config = Config::find(scheme, Some(preset)).ok()?;
            QcnLaw::from_config(&config, format!("{scheme} {preset}")).ok()
        };
        let listings = catalogue();
        let pairs =
            listings.iter().flat_map(|listing| listing.presets.iter().map(|preset| (listing.name, preset.name)));
        pairs.filter_map(|(scheme, preset)| of(scheme, preset)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_under_which_no_sample_is_due_is_refused() {
        let mut options = ConformOptions::new("DECK001");
        options.set = vec!["cp.sampling=each_frame".to_owned()];
        let said = QcnLaw::of(&options).unwrap_err().to_string();
        assert!(said.contains("qcn DECK001, cp.sampling=each_frame samples each frame by itself"), "{said}");
        options.set = vec!["cp.sampling=octets".to_owned()];
        assert!(QcnLaw::of(&options).is_ok());
    }
}
