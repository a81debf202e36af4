namespace Weir.Core.Dispatch;

/// <summary>The parked calls of one worker, which later runs use again.</summary>
internal sealed class ParkedCalls<TResult, TPending>
    where TPending : struct, IPending<TResult>
{
    // The calls of larger runs are left to the collector, because what is kept stays for good.
    private const int Most = 256;

    // So many that runs that are under way at the same time find one each.
    private static readonly ParkedCalls<TResult, TPending>?[] Spare =
        new ParkedCalls<TResult, TPending>?[Math.Clamp(2 * Environment.ProcessorCount, 4, 32)];

    private ParkedCall<TResult, TPending>?[] _calls = new ParkedCall<TResult, TPending>?[1];
    private int _used;

    /// <summary>How many calls the worker has parked and not yet told the run.</summary>
    public int Untold;

    /// <summary>Gets calls that no run has.</summary>
    public static ParkedCalls<TResult, TPending> Take()
    {
        ParkedCalls<TResult, TPending>?[] spare = Spare;
        int start = Thread.GetCurrentProcessorId();
        for (int i = 0; i < spare.Length; i++)
        {
            ref ParkedCalls<TResult, TPending>? place = ref spare[(start + i) % spare.Length];
            if (Volatile.Read(ref place) is not null && Interlocked.Exchange(ref place, null) is { } calls)
            {
                return calls;
            }
        }

        return new ParkedCalls<TResult, TPending>();
    }

    /// <summary>Lets go of the calls, all of which have ended. If there are enough spare ones, they are left to the collector.</summary>
    public void GiveBack()
    {
        _used = 0;
        ParkedCalls<TResult, TPending>?[] spare = Spare;
        int start = Thread.GetCurrentProcessorId();
        for (int i = 0; i < spare.Length; i++)
        {
            ref ParkedCalls<TResult, TPending>? place = ref spare[(start + i) % spare.Length];
            if (Volatile.Read(ref place) is null && Interlocked.CompareExchange(ref place, this, null) is null)
            {
                return;
            }
        }
    }

    /// <summary>Gets a call to park.</summary>
    public ParkedCall<TResult, TPending> Next()
    {
        if (_used == Most)
        {
            return new ParkedCall<TResult, TPending>();
        }

        if (_used == _calls.Length)
        {
            Array.Resize(ref _calls, 4 * _used);
        }

        return _calls[_used++] ??= new ParkedCall<TResult, TPending>();
    }
}
