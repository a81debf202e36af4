using Weir.Core.Sinks;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>The parked calls of one worker, which later runs use again. The worker adds to them, and other threads give up their items.</summary>
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

    /// <summary>
    /// The calls that were used in the run. A thread that is not the worker's may miss the last ones. Only while they cannot be given back.
    /// </summary>
    public ReadOnlySpan<ParkedCall<TResult, TPending>> Used
    {
        get
        {
            // In this order: the places before the count are filled before it is raised, and stay as they are.
            int used = Volatile.Read(ref _used);
            return Volatile.Read(ref _calls).AsSpan(0, used)!;
        }
    }

    /// <summary>Gets calls that no run has.</summary>
    public static ParkedCalls<TResult, TPending> Take() => Spare<ParkedCalls<TResult, TPending>>.Take() ?? new ParkedCalls<TResult, TPending>();

    /// <summary>One of the calls may still wait although its item has ended: no other run may have them.</summary>
    public void Spoil() => _spoiled = true;

    /// <summary>
    /// Lets go of the calls, all of which have ended, and which nobody looks at. If there are enough spare ones, they are left to the collector.
    /// </summary>
    public void GiveBack()
    {
        if (!_spoiled && _calls.Length <= Most)
        {
            _used = 0;
            Spare<ParkedCalls<TResult, TPending>>.GiveBack(this);
        }
    }

    /// <summary>Gets a call to park.</summary>
    public ParkedCall<TResult, TPending> Next()
    {
        ParkedCall<TResult, TPending>?[] calls = _calls;
        int at = _used;
        if (at == calls.Length)
        {
            Array.Resize(ref calls, 4 * at);
            Volatile.Write(ref _calls, calls);
        }

        FaultPoint.Pass("ParkedCalls.Next", this);
        ParkedCall<TResult, TPending> call = calls[at] ??= new ParkedCall<TResult, TPending>();
        Volatile.Write(ref _used, at + 1);
        return call;
    }

    /// <summary>Gives up the items of all calls that wait, and counts them.</summary>
    public void Abandon(Pump run, ItemStatus status, Exception? error, ref int abandoned)
    {
        foreach (ParkedCall<TResult, TPending> call in Used)
        {
            if (call.IsWaitingIn(run, out long word) && call.TryGiveUp(word))
            {
                abandoned++;
                run.GiveUpParked(call.Index);
                run.EndUnsuccessful(call.Index, status, error);
            }
        }
    }

    /// <summary>Gives up the items whose time is over.</summary>
    /// <param name="run">The run.</param>
    /// <param name="left">The time until something else has to be looked at.</param>
    /// <returns>The time until the next look.</returns>
    public TimeSpan CheckDeadlines(Pump run, TimeSpan left)
    {
        long now = run.Time.GetTimestamp();
        ReadOnlySpan<ParkedCall<TResult, TPending>> calls = Used;
        FaultPoint.Pass("PumpWorker.CheckParkedDeadlines", run);
        foreach (ParkedCall<TResult, TPending> call in calls)
        {
            if (call.IsWaitingIn(run, out long word))
            {
                TimeSpan due = run.Time.GetElapsedTime(now, call.Deadline);
                if (due > TimeSpan.Zero)
                {
                    left = due < left ? due : left;
                }
                else if (call.TryGiveUp(word))
                {
                    // The call still waits, perhaps forever.
                    Spoil();
                    HandOver(run, call);
                }
            }
        }

        return left;
    }

    /// <summary>A new worker records that the item of a call was given up.</summary>
    private static void HandOver(Pump run, ParkedCall<TResult, TPending> call)
    {
        PumpWorker worker;
        try
        {
            run.GiveUpParked(call.Index);
            Exception error = run.ItemTimedOut(call.Index);
            SafeCancel.Later(call.Stop!);
            FaultPoint.Pass("PumpWorker.GiveUpParked", run);
            worker = run.CreateForParked();
            worker.HandOver(call.Index, error);
        }
        catch (Exception e)
        {
            run.LoseGivenUp(e);
            return;
        }

        worker.QueueHandedOver();
    }
}
