namespace Weir.Lab.Suites.Peers.Dataflow;

/// <summary>What the actions at the end of a network do: count and add up, one message at a time.</summary>
internal sealed class Tally
{
    private long _count;
    private long _sum;

    public void Add(int value)
    {
        _count++;
        _sum += value;
    }

    public void AddAll(int[] values)
    {
        _count += values.Length;
        _sum += values[0] + values[^1];
    }

    public void AddPair(Tuple<int, int> pair)
    {
        _count++;
        _sum += pair.Item1 + pair.Item2;
    }

    /// <summary>The count and the sum, which begin anew.</summary>
    public long[] Take()
    {
        long[] result = [_count, _sum];
        _count = _sum = 0;
        return result;
    }
}
