//! What a misspelt word was probably meant to be.

use strsim::{damerau_levenshtein, jaro_winkler};

/// The candidate nearest to `word`, if one is near enough to be meant.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let plain = |text: &str| text.to_lowercase().replace('-', "_");
    let word = plain(word);
    let few = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (damerau_levenshtein(&word, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= few || jaro_winkler(&word, &plain(candidate)) >= 0.9)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate.to_owned())
}
