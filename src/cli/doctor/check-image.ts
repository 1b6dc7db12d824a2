import { bytes } from '../../lib/table.ts';
import { imageStatus, planImage } from '../sandbox/image.ts';
import { ok, type Row, warning } from './row.ts';
import type { Scene } from './scene.ts';

/** The image is there and fresh, and how much old ones take (S21). */
export async function checkImage({ config, engine }: Scene): Promise<Row[]> {
  const { name, state, current, old } = await imageStatus(
    engine,
    planImage(config.INSTALLATION_PREFIX, config),
  );
  const image =
    current === undefined
      ? warning('image', `${name} is ${state}: the next start builds it`, 'pi-sandbox image build')
      : ok('image', `${name}, ${bytes(current.sizeBytes)}`);
  if (old.length === 0) return [image];
  // They share layers with each other, so that their sum says too much.
  const total = bytes(old.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  return [image, warning('old images', `${old.length}, at most ${total}`, 'pi-sandbox image prune')];
}
