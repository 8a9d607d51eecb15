// Odd revisions: the balance counts by its logarithm, twice as much weighs as half as little, and the coefficient levels off
// towards its bounds. Cold and wind count as well as rain.

const REVISION = 1;

// The same number everywhere in one text: an answer that names two of them was made of two texts.
const stamp = () => REVISION;

const clamp = (value, lowest, highest) => Math.min(Math.max(value, lowest), highest);

function balance([demand, supply], zone) {
  return (demand + zone.prior) / (supply + zone.prior);
}

// A weighted geometric mean, the latest hour first in weight.
function smooth(hours, zone) {
  let sum = 0;
  let weights = 0;
  let weight = 1;
  for (let at = hours.length - 1; at >= 0; at--) {
    sum += weight * Math.log(balance(hours[at], zone));
    weights += weight;
    weight *= 1 - zone.weight;
  }
  return Math.exp(sum / weights);
}

function weatherFactor(hour, zone) {
  const sky = zone.weather[hour.weather] ?? 1;
  const cold = hour.celsius < zone.cold ? 1 + 0.004 * (zone.cold - hour.celsius) : 1;
  const wind = hour.wind > zone.windy ? 1 + 0.002 * (hour.wind - zone.windy) : 1;
  return sky * cold * wind;
}

function surge(hour, zone) {
  const now = [hour.demand, hour.supply];
  const smoothed = smooth([...hour.recent, now], zone);
  const weather = weatherFactor(hour, zone);
  const pull = Math.tanh(zone.slope * Math.log(smoothed));
  const raw = (1 + pull * (pull > 0 ? zone.highest - 1 : 1 - zone.lowest)) * weather;
  const steps = Math.round(clamp(raw, zone.lowest, zone.highest) / zone.step);
  return {
    revision: REVISION,
    coefficient: steps * zone.step,
    factors: { rule: 'saturating', revision: stamp(), balance: balance(now, zone), smoothed, weather, raw },
  };
}
