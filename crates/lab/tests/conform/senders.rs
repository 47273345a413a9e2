use super::*;

const SHORT: [&str; 5] =
    ["duration=120 ms", "warmup=1 ms", "hotspot.0.from=5 ms", "hotspot.0.until=40 ms", "replications=1"];

#[test]
fn senders_of_the_simulator_conform() {
    for (name, changes) in [("ideal", &[][..])] {
        let scenario = shipped(HOTSPOT, &[&SHORT[..], changes].concat());
        let file = captured(name, &scenario, "source*->switch");
        let report = rp(&file, &ConformOptions::new("DECK001"));
        for point in report["reaction_points"].as_array().unwrap() {
            println!("{}: {} {} {}", point["sender"], point["verdict"], point["why"], point["first_violation"]);
            println!(
                "   frames {} limited {} on time {} late {} cnms {}",
                point["frames"], point["limited_frames"], point["on_time_frames"], point["late_frames"], point["cnms"]
            );
            println!("   best {}, fits {}", point["best_fit"], point["fits"]);
            for row in point["intervals"].as_array().unwrap().iter().take(12) {
                println!("   {row}");
            }
        }
        assert_eq!(report["verdict"], "conforms", "{name}");
    }
}
