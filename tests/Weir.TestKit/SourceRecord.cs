namespace Weir.TestKit;

/// <summary>What was done to a source.</summary>
public sealed class SourceRecord
{
    private int _opened;
    private int _closed;
    private int _reads;
    private int _reading;
    private int _faults;

    /// <summary>How many enumerators were asked for.</summary>
    public int Opened => Volatile.Read(ref _opened);

    /// <summary>How many enumerators were disposed.</summary>
    public int Closed => Volatile.Read(ref _closed);

    /// <summary>How many steps were begun, the last one that finds nothing included.</summary>
    public int Reads => Volatile.Read(ref _reads);

    /// <summary>How often two steps ran at once, or a step came after the disposal or the end.</summary>
    public int Faults => Volatile.Read(ref _faults);

    internal void Open() => Interlocked.Increment(ref _opened);

    internal void Close()
    {
        if (Volatile.Read(ref _reading) != 0)
        {
            Interlocked.Increment(ref _faults);
        }

        Interlocked.Increment(ref _closed);
    }

    internal void BeginRead(bool allowed)
    {
        Interlocked.Increment(ref _reads);
        if (Interlocked.Increment(ref _reading) != 1 || !allowed)
        {
            Interlocked.Increment(ref _faults);
        }
    }

    internal void EndRead() => Interlocked.Decrement(ref _reading);
}
