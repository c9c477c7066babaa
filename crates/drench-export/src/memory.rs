//! How the look of wet hair dries: at once wet, slowly dry again.
//!
//! Two numbers from 0 to 1 at every vertex of a simulated strand drive a shader, and each rises at once with the water
//! but falls only with a time constant of its own:
//!
//! - `wet_spec`, gloss: how far a film hides the scales of the fibre. When the film has run off, the gloss fades within
//!   [`GLOSS`] seconds.
//! - `wet_dark`, colour: how full the fibre is. When it dries, the colour comes back over [`DARKNESS`] seconds.
//!
//! value <- max(water now, value * exp(-dt / time constant))

use drench_render::Water;

/// Time constant of the gloss [s]: what is left of a film that ran off evaporates within a breath.
pub const GLOSS: f64 = 0.5;
/// Time constant of the darkness [s]: water inside the fibre has to come out first.
pub const DARKNESS: f64 = 8.0;

/// What the vertices of one body remember.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    time: f64,
    /// Gloss now, 0 to 1.
    pub gloss: Vec<f32>,
    /// Darkness now, 0 to 1.
    pub darkness: Vec<f32>,
}

impl Memory {
    /// Takes in the water of all vertices at a time [s], later than the last.
    pub fn see(&mut self, time: f64, water: &[Water]) {
        if self.gloss.len() != water.len() {
            *self = Self { time, gloss: vec![0.0; water.len()], darkness: vec![0.0; water.len()] };
        }
        let passed = (time - self.time).max(0.0);
        let [gloss_left, dark_left] = [GLOSS, DARKNESS].map(|constant| (-passed / constant).exp() as f32);
        self.time = time;
        for ((gloss, dark), water) in self.gloss.iter_mut().zip(&mut self.darkness).zip(water) {
            *gloss = (*gloss * gloss_left).max(water.coat);
            *dark = (*dark * dark_left).max(water.inside);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gloss_and_darkness_rise_at_once_and_fall_each_in_its_time() {
        let mut memory = Memory::default();
        memory.see(0.0, &[Water { inside: 0.0, coat: 0.0 }]);
        assert_eq!((memory.gloss[0], memory.darkness[0]), (0.0, 0.0));
        memory.see(0.1, &[Water { inside: 0.6, coat: 1.0 }]);
        assert_eq!((memory.gloss[0], memory.darkness[0]), (1.0, 0.6));
        // In one stride or in many: the same.
        let mut strides = memory.clone();
        memory.see(1.1, &[Water { inside: 0.0, coat: 0.0 }]);
        for k in 1..=10 {
            strides.see(0.1 + 0.1 * f64::from(k), &[Water { inside: 0.0, coat: 0.0 }]);
        }
        assert!((memory.gloss[0] - (-1.0_f32 / 0.5).exp()).abs() < 1e-6);
        assert!((memory.darkness[0] - 0.6 * (-1.0_f32 / 8.0).exp()).abs() < 1e-6);
        assert!((strides.gloss[0] - memory.gloss[0]).abs() < 1e-5);
        // Another number of vertices is another body.
        memory.see(1.2, &[Water { inside: 0.0, coat: 0.0 }; 2]);
        assert_eq!(memory.gloss, [0.0, 0.0]);
    }
}
