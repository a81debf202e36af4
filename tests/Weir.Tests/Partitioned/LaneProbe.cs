using System.Collections.Concurrent;

namespace Weir.Tests.Partitioned;

/// <summary>Watches what runs at once, for each key and over all, and in which order the items of a key start.</summary>
internal sealed class LaneProbe
{
    private readonly ConcurrentDictionary<int, Lane> _lanes = new();
    private readonly ConcurrencyProbe _all = new();

    public int MostAtOnce => _all.Most;

    public int MostOfOneKey => _lanes.Values.Max(static lane => lane.Probe.Most);

    public IEnumerable<int> Keys => _lanes.Keys;

    public IEnumerable<int> Started(int key) => _lanes.TryGetValue(key, out Lane? lane) ? lane.Started : [];

    /// <summary>Enters until the result is disposed.</summary>
    public IDisposable Enter(int key, int item)
    {
        Lane lane = _lanes.GetOrAdd(key, static _ => new Lane());
        lane.Started.Enqueue(item);
        return new Visit(_all.Enter(), lane.Probe.Enter());
    }

    /// <summary>The call of a number whose key is its remainder. Every third one suspends.</summary>
    public async ValueTask<int> CallAsync(int item, int keys)
    {
        using (Enter(item % keys, item))
        {
            if (item % 3 == 0)
            {
                await Task.Yield();
            }

            return item;
        }
    }

    /// <summary>Checks that the numbers below a count have run, those of a key one at a time and in order.</summary>
    public void AssertInOrder(int count, int keys)
    {
        Assert.Equal(1, MostOfOneKey);
        Assert.All(Enumerable.Range(0, keys), key => Assert.Equal(Enumerable.Range(0, count).Where(x => x % keys == key), Started(key)));
    }

    private sealed class Lane
    {
        public ConcurrencyProbe Probe { get; } = new();

        public ConcurrentQueue<int> Started { get; } = [];
    }

    private sealed class Visit(ConcurrencyProbe.Stay all, ConcurrencyProbe.Stay lane) : IDisposable
    {
        public void Dispose()
        {
            lane.Dispose();
            all.Dispose();
        }
    }
}
