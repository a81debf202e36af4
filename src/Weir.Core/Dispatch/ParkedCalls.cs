namespace Weir.Core.Dispatch;

/// <summary>The parked calls of one worker, which later runs use again.</summary>
internal sealed class ParkedCalls<TResult, TPending>
    where TPending : struct, IPending<TResult>
{
    // The calls of larger runs are left to the collector, because what is kept stays for good.
    private const int Most = 256;

    private ParkedCall<TResult, TPending>?[] _calls = new ParkedCall<TResult, TPending>?[1];
    private int _used;
    private bool _spoiled;

    /// <summary>How many calls the worker has parked and not yet told the run.</summary>
    public int Untold;

    /// <summary>The calls that were used in the run. A thread that is not the worker's may miss the last ones.</summary>
    public ReadOnlySpan<ParkedCall<TResult, TPending>?> Used
    {
        get
        {
            int used = Volatile.Read(ref _used);
            return Volatile.Read(ref _calls).AsSpan(0, used);
        }
    }

    /// <summary>Gets calls that no run has.</summary>
    public static ParkedCalls<TResult, TPending> Take() => Spare<ParkedCalls<TResult, TPending>>.Take() ?? new ParkedCalls<TResult, TPending>();

    /// <summary>Something went wrong with one of the calls: no other run may have them.</summary>
    public void Spoil() => _spoiled = true;

    /// <summary>
    /// Lets go of the calls, all of which have ended or were given up. If there are enough spare ones, they are left to the collector.
    /// </summary>
    public void GiveBack(bool guarded)
    {
        if (_spoiled || _calls.Length > Most)
        {
            return;
        }

        for (int i = 0; guarded && i < _used; i++)
        {
            if (_calls[i]!.IsAbandoned)
            {
                // It still waits, perhaps forever.
                _calls[i] = null;
            }
        }

        _used = 0;
        Spare<ParkedCalls<TResult, TPending>>.GiveBack(this);
    }

    /// <summary>Gets a call to park.</summary>
    public ParkedCall<TResult, TPending> Next()
    {
        ParkedCall<TResult, TPending>?[] calls = _calls;
        if (_used == calls.Length)
        {
            Array.Resize(ref calls, 4 * _used);
            Volatile.Write(ref _calls, calls);
        }

        ParkedCall<TResult, TPending> call = calls[_used] ??= new ParkedCall<TResult, TPending>();
        Volatile.Write(ref _used, _used + 1);
        return call;
    }
}
