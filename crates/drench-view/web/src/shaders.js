// What all shaders share: light, colour maps, and how a picture is developed.
import { KINDS } from "./colours.js";
import * as THREE from "three";

const linear = (hex) => new THREE.Color(hex).toArray().map((x) => x.toFixed(4)).join(", ");

/** The lights are fixed in the world; the shade that the server computes belongs to the first. */
export const COMMON = /* glsl */ `
precision highp float;
uniform int mode;
uniform float low, high, film;
uniform sampler2D map;
const vec3 KEY = vec3(0.342, 0.831, 0.440);
const vec3 RIM = vec3(-0.48, 0.36, -0.80);
const vec3 KEY_COLOUR = vec3(1.0, 0.955, 0.89) * 1.55;
const vec3 RIM_COLOUR = vec3(0.62, 0.78, 1.0) * 0.75;

vec3 sky(vec3 n) { return mix(vec3(0.20, 0.19, 0.18), vec3(0.50, 0.55, 0.62), 0.5 + 0.5 * n.y); }

vec3 hue(float x) {
  vec3 k = fract(x + vec3(0.0, 0.667, 0.333));
  return pow(0.62 + 0.38 * cos(6.2832 * (k - 0.08)), vec3(2.2));
}

// The colour that a value stands for, in linear light.
vec3 valueColour(float value, float second, float at_random) {
  if (mode == 2) return hue(fract(value * 0.61803399));
  if (mode == 3) {
    float inside = clamp(value, 0.0, 1.0), around = clamp(second / film, 0.0, 1.0);
    vec3 c = mix(vec3(${linear(KINDS.dry)}), vec3(${linear(KINDS.fibre)}), inside);
    return mix(c, vec3(${linear(KINDS.film)}), pow(around, 0.6) * 0.9);
  }
  return texture(map, vec2(clamp((value - low) / max(high - low, 1e-20), 0.002, 0.998), 0.5)).rgb;
}

vec4 develop(vec3 c) {
  c = max(c, 0.0);
  c = (c * (1.0 + c * 0.12)) / (1.0 + c * 0.62);
  return vec4(pow(c, vec3(1.0 / 2.2)), 1.0);
}
`;

/** Shared by everything that has no value in the channel that is shown. */
export const UNKNOWN = "vec3(0.16, 0.17, 0.18)";
