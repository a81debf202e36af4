namespace Weir.Core.Sinks;

/// <summary>Results in the order in which they were completed.</summary>
internal sealed class UnorderedOutput<TResult>(int limit, int capacity, Func<StreamOutput<TResult>, IRunHandle> start)
    : StreamOutput<TResult>(limit, capacity, start)
{
    private TResult[] _ready = [];
    private int _count;
    private IEnumerator<long>? _tail;

    protected override bool AddNeedsLock(long index, TResult result)
    {
        if (_count == _ready.Length)
        {
            _ready = Grow(_ready, _count + 1, Window);
        }

        _ready[_count++] = result;
        return true;
    }

    protected override bool SkipNeedsLock(long index)
    {
        ReleaseNeedsLock(1);
        return false;
    }

    protected override int TakeNeedsLock(ref TResult[] buffer)
    {
        int count = _count;
        (_ready, buffer) = (buffer, _ready);
        _count = 0;
        return count;
    }

    protected override int TailNeedsLock(RunEnd end, (int Count, Func<long, TResult> Make) missing, ref TResult[] buffer)
    {
        _tail ??= end.NeverRun(missing.Count).GetEnumerator();
        buffer = buffer.Length == 0 ? Grow(buffer, 1, Window) : buffer;
        int count = 0;
        while (count < buffer.Length && _tail.MoveNext())
        {
            buffer[count++] = missing.Make(_tail.Current);
        }

        return count;
    }

    protected override void DropNeedsLock()
    {
        ReturnBuffer(_ready);
        _ready = [];
        _count = 0;
    }

    protected override void AddLeftNeedsLock(UnusedResults<TResult> to, ref HashSet<object>? unused) => to.Add(ref unused, _ready.AsSpan(0, _count));
}
