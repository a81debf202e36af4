namespace Weir.Lab.Suites.Peers.Dataflow;

/// <summary>The sum of the messages that arrive at the end of a network.</summary>
internal sealed class CellSum
{
    private long _sum;

    public long Value => Volatile.Read(ref _sum);

    /// <summary>Adds a message. One call at a time.</summary>
    public void Add(int value) => _sum += value;

    /// <summary>Adds a message. Several calls at a time.</summary>
    public void AddShared(int value) => Interlocked.Add(ref _sum, value);

    /// <summary>Yields, then adds a message. Several calls at a time.</summary>
    public async Task AddYieldingAsync(int value)
    {
        await Task.Yield();
        AddShared(value);
    }

    public void AddAll(int[] values)
    {
        foreach (int value in values)
        {
            _sum += value;
        }
    }

    public void AddPair(Tuple<int, int> pair) => _sum += pair.Item1 + pair.Item2;

    public void AddTriple(Tuple<int, int, int> triple) => _sum += triple.Item1 + triple.Item2 + triple.Item3;

    public void AddLists(Tuple<IList<int>, IList<int>> lists)
    {
        for (int i = 0; i < lists.Item1.Count; i++)
        {
            _sum += lists.Item1[i];
        }

        for (int i = 0; i < lists.Item2.Count; i++)
        {
            _sum += lists.Item2[i];
        }
    }
}
