//! From a frame to a picture.

use crate::camera::Camera;
use crate::curves::{Curves, Detail, Strand};
use crate::fibre::Fur;
use crate::grains::Grains;
use crate::light::ambient::{Ambient, Blockers, sky_radiance};
use crate::light::arriving;
use crate::light::rays::{Rays, Scenery};
use crate::light::shadow::{Scratch, ShadowMap, disc};
use crate::liquid::Liquids;
use crate::raster::tile::Projection;
use crate::shade::Stage;
use crate::surfaces::Surfaces;
use crate::{Light, Picture, Quality, RenderError, Settings, View, trace, tubes};
use drench_io::Frame;
use glam::{Vec3, Vec4};
use rayon::prelude::*;
use std::f32::consts::PI;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

/// Most pixels of one picture: 8192 x 8192.
const PIXEL_LIMIT: u64 = 1 << 26;
/// Width below which a few wider strands stand for many where they are seen through a liquid [px].
const SEEN_THROUGH: f32 = 0.6;
/// Longest side of a picture [px].
const SIDE_LIMIT: u32 = 16_384;

/// Makes pictures of frames. Keeps its buffers from picture to picture.
pub struct Renderer {
    settings: Settings,
    effort: Effort,
    grooms: Vec<String>,
    furs: Vec<Fur>,
    curves: Curves,
    surfaces: Surfaces,
    grains: Grains,
    liquids: Liquids,
    maps: Vec<ShadowMap>,
    scratch: Vec<Scratch>,
    ambient: Ambient,
    projection: Projection,
    cache: Vec<AtomicU64>,
    /// Radiance and opacity.
    linear: Vec<Vec4>,
    stages: Vec<(&'static str, f64)>,
}

/// Times stages.
struct Watch {
    since: Instant,
    stages: Vec<(&'static str, f64)>,
}

impl Watch {
    fn lap(&mut self, stage: &'static str) {
        let now = Instant::now();
        self.stages.push((stage, (now - self.since).as_secs_f64()));
        self.since = now;
    }
}

/// What a quality means at a resolution.
#[derive(Clone, Copy, Debug)]
struct Effort {
    /// Pixels of the internal picture per pixel, along a side.
    supersampling: u32,
    /// How closely curves are drawn.
    detail: Detail,
    /// Texels of a shadow map's side.
    map: usize,
    /// Taps of a solid's soft shadow.
    taps: usize,
    /// Cells of the ambient grid's longest side.
    cells: usize,
    /// Directions of the sky.
    directions: usize,
    /// Points on the lens if it is open.
    lens: usize,
    /// Surfaces of liquids that a line of sight meets at most.
    bends: u32,
}

impl Effort {
    fn new(settings: &Settings) -> Self {
        let side = settings.width.max(settings.height) as usize;
        match settings.quality {
            Quality::Preview => Self {
                supersampling: 1,
                detail: Detail { tolerance: 0.3, thinnest: 0.25 },
                map: (side * 4 / 5).clamp(192, 1024),
                taps: 12,
                cells: (side / 12).clamp(28, 64),
                directions: (side / 24).clamp(16, 36),
                lens: 16,
                bends: 5,
            },
            Quality::Beauty => Self {
                supersampling: 2,
                detail: Detail { tolerance: 0.15, thinnest: 0.06 },
                map: (side * 3 / 2).clamp(256, 2048),
                taps: 48,
                cells: (side / 10).clamp(40, 96),
                directions: (side / 16).clamp(24, 64),
                lens: 64,
                bends: 10,
            },
        }
        .with_samples(settings.samples)
    }

    /// Texels of a light's map: a soft light needs no fine one.
    fn texels(&self, light: &Light) -> usize {
        let share = match light {
            Light::Sun { angle, .. } => 0.07 / angle.max(0.07),
            Light::Lamp { .. } => 1.0,
        };
        (self.map as f32 * share.max(0.4)) as usize
    }

    fn with_samples(self, samples: Option<u32>) -> Self {
        let Some(samples) = samples else { return self };
        let side = f64::from(samples.max(1)).sqrt().round() as u32;
        Self { supersampling: side.clamp(1, 4), lens: samples.clamp(1, 1024) as usize, ..self }
    }
}

impl Renderer {
    /// A renderer for pictures of these settings.
    pub fn new(settings: Settings) -> Result<Self, RenderError> {
        let (width, height) = (settings.width, settings.height);
        if width == 0 || height == 0 {
            return Err(RenderError::NoPixels { width, height });
        }
        if u64::from(width) * u64::from(height) > PIXEL_LIMIT || width.max(height) > SIDE_LIMIT {
            return Err(RenderError::TooManyPixels { width, height, limit: PIXEL_LIMIT });
        }
        let mut effort = Effort::new(&settings);
        while u64::from(width) * u64::from(height) * u64::from(effort.supersampling).pow(2) > PIXEL_LIMIT {
            effort.supersampling -= 1;
        }
        Ok(Self {
            settings,
            effort,
            grooms: Vec::new(),
            furs: Vec::new(),
            curves: Curves::default(),
            surfaces: Surfaces::default(),
            grains: Grains::default(),
            liquids: Liquids::default(),
            maps: Vec::new(),
            scratch: Vec::new(),
            ambient: Ambient::default(),
            projection: Projection::default(),
            cache: Vec::new(),
            linear: Vec::new(),
            stages: Vec::new(),
        })
    }

    /// What the pictures look like.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// One picture of one frame. The same inputs give the same bits on any number of threads.
    pub fn render(&mut self, frame: &Frame, view: &View) -> Result<Picture, RenderError> {
        let scale = self.effort.supersampling;
        let (width, height) = (self.settings.width * scale, self.settings.height * scale);
        let camera = Camera::new(view, width, height)?;

        let mut watch = Watch { since: Instant::now(), stages: Vec::with_capacity(9) };
        self.choose_looks(frame);
        let looks: Vec<_> = self.furs.iter().map(Fur::look).collect();
        // Liquids keep one thread busy, the others have the rest.
        let (curves, surfaces, grains) = (&mut self.curves, &mut self.surfaces, &mut self.grains);
        let (settings, furs, detail) = (&self.settings, &self.furs, self.effort.detail);
        let (gathered, liquids) = rayon::join(
            || {
                curves.gather(frame, settings, &looks, &camera, detail)?;
                surfaces.gather(frame, settings)?;
                tubes::gather(frame, furs, &camera, surfaces)?;
                grains.gather(frame, settings)
            },
            || self.liquids.gather(frame, settings),
        );
        gathered.and(liquids)?;
        watch.lap("shapes");
        let (low, high) = self.bounds();
        let (centre, radius) = (0.5 * (low + high), 0.5 * low.distance(high).max(1e-3));
        let maps = std::mem::take(&mut self.maps);
        let scratch = std::mem::take(&mut self.scratch);
        let mut ambient = std::mem::take(&mut self.ambient);
        // Each has parts that keep one thread busy.
        let (((maps, scratch), ()), rays) = rayon::join(
            || {
                rayon::join(
                    || self.draw_shadows(centre, radius, maps, scratch),
                    || self.spread_sky(low, high, &mut ambient),
                )
            },
            || self.build_rays(&camera),
        );
        (self.maps, self.scratch, self.ambient) = (maps, scratch, ambient);
        self.grains.illuminate(&self.maps, &self.ambient);
        watch.lap("light");
        let rays = (rays.0.as_ref(), rays.1.as_ref());
        self.draw(camera, rays, centre, radius, width as usize, height as usize);
        watch.lap("tiles");
        let picture = self.develop(width as usize);
        watch.lap("develop");
        self.stages = watch.stages;
        Ok(picture)
    }

    /// How long each stage of the last picture took [s].
    pub fn stages(&self) -> &[(&'static str, f64)] {
        &self.stages
    }

    fn choose_looks(&mut self, frame: &Frame) {
        let names = frame.strands.iter().map(|body| &body.name);
        if self.grooms.iter().eq(names.clone()) {
            return;
        }
        self.grooms = names.cloned().collect();
        self.furs = (self.grooms.iter())
            .map(|name| {
                let mut look = self.settings.hair.get(name).copied().unwrap_or_default();
                look.model = self.settings.shading.unwrap_or(look.model);
                Fur::new(look)
            })
            .collect();
    }

    /// Share of light that goes on behind an average strand.
    fn transparency(&self) -> f32 {
        let mean = |fur: &Fur| fur.forward.element_sum() / 3.0;
        self.furs.iter().map(mean).sum::<f32>() / self.furs.len().max(1) as f32
    }

    /// The shadow maps of all lights; `old` ones and `scratch` lend their buffers, and come back.
    fn draw_shadows(
        &self,
        centre: Vec3,
        radius: f32,
        old: Vec<ShadowMap>,
        mut scratch: Vec<Scratch>,
    ) -> (Vec<ShadowMap>, Vec<Scratch>) {
        let transparency = self.transparency();
        let lights = &self.settings.lights;
        scratch.resize_with(lights.len(), Scratch::default);
        let mut old: Vec<Option<ShadowMap>> = old.into_iter().map(Some).collect();
        old.resize_with(lights.len(), || None);
        let ground = self.settings.ground.map(|ground| ground.height);
        let draw = |((&light, old), scratch): ((&Light, Option<ShadowMap>), &mut Scratch)| {
            let mut map = ShadowMap::new(light, centre, radius, self.effort.texels(&light), old);
            map.draw(self.scenery(), &self.liquids, ground, transparency, scratch);
            map
        };
        let maps = lights.par_iter().zip(old).zip(&mut scratch).map(draw).collect();
        (maps, scratch)
    }

    /// The trees for lines of sight and shadow rays: of everything, and of the surfaces of liquids.
    fn build_rays(&self, camera: &Camera) -> (Option<Rays>, Option<Rays>) {
        let liquid = !self.liquids.mesh.triangles.is_empty();
        let beauty = self.settings.quality == Quality::Beauty;
        let stands_for = |strand: &Strand| {
            let depth = camera.project(self.curves.positions[strand.first as usize]).1;
            let thinnest = if beauty { f32::MIN_POSITIVE } else { SEEN_THROUGH / camera.pixels_per_metre(depth.abs()) };
            self.curves.stands_for(strand, thinnest)
        };
        rayon::join(
            || (liquid || beauty).then(|| Rays::build(self.scenery(), stands_for)),
            || liquid.then(|| trace::alone(&self.liquids.mesh)),
        )
    }

    /// Irradiance of the ground below a point, if nothing were there.
    fn ground_irradiance(&self, above: Vec3) -> Vec3 {
        let Some(ground) = &self.settings.ground else { return Vec3::ZERO };
        let sky = |from| sky_radiance(&self.settings.sky, from);
        let mut sum = 0.5 * PI * (sky(Vec3::Y) + sky(Vec3::X));
        for light in &self.settings.lights {
            let (towards, irradiance) = arriving(light, above.with_y(ground.height));
            sum += irradiance * towards.y.max(0.0);
        }
        sum
    }

    fn spread_sky(&self, mut low: Vec3, mut high: Vec3, ambient: &mut Ambient) {
        let margin = 0.25 * (high - low).max_element();
        // A few cells in the open, so that light comes smoothly around edges.
        let mut around = 0.5 * margin;
        if let Some(ground) = &self.settings.ground
            && high.y > ground.height
            && low.y - ground.height < 2.0 * margin
        {
            // Room for the contact shadow around the feet; the grid ends at the ground.
            around = margin;
            low.y = ground.height + 0.05 * margin;
        }
        low -= Vec3::new(around, 0.05 * margin, around);
        high += Vec3::new(around, 0.05 * margin, around);
        let ground_irradiance = self.ground_irradiance(0.5 * (low + high));
        let blockers = Blockers {
            curves: &self.curves,
            furs: &self.furs,
            surfaces: &self.surfaces,
            grains: &self.grains,
            sky: self.settings.sky,
            ground: self.settings.ground,
            ground_irradiance,
        };
        ambient.build(&blockers, low, high, self.effort.cells, self.effort.directions);
    }

    /// What rays may meet.
    fn scenery(&self) -> Scenery<'_> {
        Scenery { curves: &self.curves, surfaces: &self.surfaces, grains: &self.grains }
    }

    fn draw(
        &mut self,
        camera: Camera,
        (rays, liquid_rays): (Option<&Rays>, Option<&Rays>),
        centre: Vec3,
        radius: f32,
        width: usize,
        height: usize,
    ) {
        let points = self.curves.positions.len();
        self.cache.par_iter_mut().for_each(|packed| *packed.get_mut() = 0);
        self.cache.resize_with(points, AtomicU64::default);
        self.linear.clear();
        self.linear.resize(width * height, Vec4::ZERO);
        let absorbed = 1.0 - self.transparency();
        let views = if camera.lens_radius > 0.0 { self.effort.lens } else { 1 };
        for k in 0..views {
            let lens = if views > 1 { disc(k, views) * camera.lens_radius } else { glam::Vec2::ZERO };
            let stage = Stage {
                settings: &self.settings,
                camera: camera.through(lens),
                curves: &self.curves,
                furs: &self.furs,
                surfaces: &self.surfaces,
                grains: &self.grains,
                liquids: &self.liquids,
                maps: &self.maps,
                ambient: &self.ambient,
                shadow_rays: rays.filter(|_| self.settings.quality == Quality::Beauty),
                sight_rays: rays.zip(liquid_rays),
                bends: self.effort.bends,
                centre,
                radius,
                absorbed,
                taps: self.effort.taps,
                cache: &self.cache,
            };
            self.projection.prepare(&stage, width, height);
            self.projection.draw(&stage, width, 1.0 / views as f32, &mut self.linear);
        }
    }

    /// Averages the internal picture and applies the exposure.
    fn develop(&self, width: usize) -> Picture {
        let (scale, gain) = (self.effort.supersampling as usize, self.settings.exposure.clamp(-30.0, 30.0).exp2());
        let pixel = |i: usize| {
            let (x, y) = (i % self.settings.width as usize * scale, i / self.settings.width as usize * scale);
            let rows = (0..scale).map(|row| self.linear[(y + row) * width + x..][..scale].iter().sum::<Vec4>());
            rows.sum::<Vec4>() / (scale * scale) as f32
        };
        let count = self.settings.width as usize * self.settings.height as usize;
        let pixels: Vec<Vec4> = (0..count).into_par_iter().map(pixel).collect();
        let opacity =
            if self.settings.sky.visible { Vec::new() } else { pixels.iter().map(|p| p.w.min(1.0)).collect() };
        Picture {
            width: self.settings.width,
            height: self.settings.height,
            pixels: pixels.iter().map(|p| (p.truncate() * gain).to_array()).collect(),
            opacity,
            skipped: self.curves.skipped + self.surfaces.skipped + self.grains.skipped + self.liquids.skipped,
        }
    }

    /// The box around what is on stage. Solids count as far as they are near strands, grains and liquids: a floor of a
    /// hundred metres must not take all texels of the shadow maps.
    fn bounds(&self) -> (Vec3, Vec3) {
        let none = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        let join = |(low, high): (Vec3, Vec3), p: Vec3| (low.min(p), high.max(p));
        let around = |points: &[Vec3]| points.iter().copied().filter(|p| p.is_finite()).fold(none, join);
        let mut actors = around(&self.curves.positions);
        for particles in [&self.grains.centres, &self.liquids.mesh.positions] {
            let (low, high) = crowd(particles, around(particles));
            actors = (actors.0.min(low), actors.1.max(high));
        }
        for &(a, b, radius) in &self.surfaces.spines {
            actors = (actors.0.min(a.min(b) - radius), actors.1.max(a.max(b) + radius));
        }
        let mut solids = around(&self.surfaces.positions);
        match (actors.0.x <= actors.1.x, solids.0.x <= solids.1.x) {
            (true, true) => {
                let reach = 0.75 * actors.0.distance(actors.1);
                solids = (solids.0.max(actors.0 - reach), solids.1.min(actors.1 + reach));
                (actors.0.min(solids.0), actors.1.max(solids.1))
            }
            (true, false) => actors,
            (false, true) => solids,
            (false, false) => (Vec3::splat(-0.5), Vec3::splat(0.5)),
        }
    }
}

/// The part of the box around many points that most of them are near: a few drops that fly away must not take the texels
/// of the shadow maps from all others.
fn crowd(points: &[Vec3], (low, high): (Vec3, Vec3)) -> (Vec3, Vec3) {
    const SAMPLES: usize = 4096;
    if points.len() < 256 {
        return (low, high);
    }
    let part = |axis: usize| {
        let mut values: Vec<f32> = points.iter().step_by(points.len().div_ceil(SAMPLES)).map(|p| p[axis]).collect();
        values.sort_unstable_by(f32::total_cmp);
        let at = |share: f32| values[(share * (values.len() - 1) as f32) as usize];
        (at(0.01), at(0.99))
    };
    let parts = [part(0), part(1), part(2)];
    let (from, to) = (Vec3::from(parts.map(|(from, _)| from)), Vec3::from(parts.map(|(_, to)| to)));
    let margin = 0.4 * (to - from).max_element();
    (low.max(from - margin), high.min(to + margin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_drops_do_not_widen_the_stage() {
        let mut points: Vec<Vec3> = (0..1000).map(|i| Vec3::new(i as f32 * 1e-3, (i % 10) as f32 * 0.1, 0.0)).collect();
        let all = |points: &[Vec3]| {
            let none = (Vec3::INFINITY, Vec3::NEG_INFINITY);
            points.iter().fold(none, |(low, high), &p| (low.min(p), high.max(p)))
        };
        assert_eq!(crowd(&points, all(&points)), all(&points));
        points.push(Vec3::new(50.0, -80.0, 0.0));
        let (low, high) = crowd(&points, all(&points));
        assert!(low.y > -1.0 && high.x < 2.0, "{low} {high}");
        assert!(crowd(&points[..100], all(&points)) == all(&points));
    }
}
