namespace Weir.Explore.Scheduling;

/// <summary>For each thread, by its number, up to which of its times all that it did comes before.</summary>
internal sealed class VectorClock
{
    private int[] _times = [];

    public int this[int id] => id < _times.Length ? _times[id] : 0;

    public void Join(VectorClock other)
    {
        int[] times = other._times;
        Array.Resize(ref _times, Math.Max(_times.Length, times.Length));
        for (int i = 0; i < times.Length; i++)
        {
            _times[i] = Math.Max(_times[i], times[i]);
        }
    }

    public void Increment(int id)
    {
        Array.Resize(ref _times, Math.Max(_times.Length, id + 1));
        _times[id]++;
    }
}
