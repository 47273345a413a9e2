//! The known word nearest to a misspelt one.

use strsim::{damerau_levenshtein, jaro_winkler};

/// The candidate nearest to `word`, if one is near enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let plain = |text: &str| text.to_lowercase().replace('-', "_");
    let word = plain(word);
    let few = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| {
            let plain = plain(candidate);
            (damerau_levenshtein(&word, &plain), jaro_winkler(&word, &plain), candidate)
        })
        .filter(|(distance, likeness, _)| *distance <= few || *likeness >= 0.9)
        .min_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)))
        .map(|(_, _, candidate)| candidate.to_owned())
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_understood() {
        let schemes = ["none", "qcn", "qcn_byte_counter", "ecm"];
        assert_eq!(nearest("qnc", schemes).as_deref(), Some("qcn"));
        assert_eq!(nearest("ecn", schemes).as_deref(), Some("ecm"), "of two equally far, the one that begins alike");
        assert_eq!(nearest("QCN-byte-counter", schemes).as_deref(), Some("qcn_byte_counter"));
        assert_eq!(nearest("og-hotspot", ["og-hotspot-2src", "w1-cbr"]).as_deref(), Some("og-hotspot-2src"));
    }

    #[test]
    fn another_word_is_not() {
        assert_eq!(nearest("timely", ["none", "qcn", "ecm"]), None);
        assert_eq!(nearest("", ["none", "qcn"]), None);
    }
}
