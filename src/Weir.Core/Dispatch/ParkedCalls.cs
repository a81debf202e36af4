using System.Diagnostics;
using Weir.Core.Sinks;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>
/// Calls that have suspended in a run whose items may all be in flight at once. Nothing but their ends is left to wait for, so they need no worker: the one that
/// made them goes on to the next item. These are the calls of some neighbouring items, and one object waits for all of them.
/// </summary>
/// <remarks>
/// The worker adds calls, and others take them away: the thread that a call continues, and whoever gives up its item. Each slot has the task of its call, and
/// whoever replaces it by null has the call. A thread that a call continues does not know which one has ended. It takes whatever has, one after another: its own
/// call is among them, or another thread has just taken it.
/// </remarks>
internal sealed class ParkedCalls : PumpWork
{
    // So many that the object costs a call next to nothing, and so few that a thread has soon looked at all of them.
    private const int Some = 16;

    private readonly Pump _run;
    private readonly long _first;
    private readonly Slot[] _calls;

    // Only in a run whose items can be given up.
    private readonly Limit[]? _limits;

    /// <summary>Makes room for an item and for those that follow it.</summary>
    /// <param name="run">The run.</param>
    /// <param name="first">The index of the first item.</param>
    /// <param name="before">The worker's calls before these.</param>
    public ParkedCalls(Pump run, long first, ParkedCalls? before)
    {
        // What would be left over goes along.
        int left = (int)(run.Items.KnownCount - first);
        int count = left <= 2 * Some ? left : Some;
        _run = run;
        _first = first;
        _calls = new Slot[count];
        _limits = run.IsGuarded ? new Limit[count] : null;
        Before = before;
        _ = Continuation;
    }

    /// <summary>The calls that the worker parked before these.</summary>
    public ParkedCalls? Before { get; }

    protected override Pump Run => _run;

    protected override bool RunsNoUserCode => true;

    /// <summary>Whether there is a slot for the call of an item.</summary>
    public bool HasSlotFor(long index) => index >= _first && index - _first < _calls.Length;

    /// <summary>The item of a call can be given up. Before <see cref="TryWait"/>.</summary>
    /// <param name="index">The index of the item.</param>
    /// <param name="deadline">When the item's time limit passes, as a timestamp of the run's clock.</param>
    /// <param name="stop">The item's own token, if it has one.</param>
    public void Guard(long index, long deadline, CancellationTokenSource? stop) => _limits![index - _first] = new Limit(deadline, stop);

    /// <summary>Waits for the end of a call. From here on, another thread may take it.</summary>
    /// <returns>False if there is no memory to wait with, and the call is still the worker's.</returns>
    public bool TryWait(long index, Task call, out Exception? error)
    {
        ref Task? slot = ref _calls[index - _first].Call;
        Debug.Assert(slot is null, "An item has one call.");
        error = null;
        Volatile.Write(ref slot, call);
        try
        {
            call.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(Continuation);
            return true;
        }
        catch (Exception e)
        {
            error = e;
            return !TryTake(ref slot, call);
        }
    }

    /// <summary>Gives up the items of all calls that wait, and counts them.</summary>
    public void Abandon(ItemStatus status, Exception? error, ref int abandoned)
    {
        for (int i = 0; i < _calls.Length; i++)
        {
            if (Volatile.Read(ref _calls[i].Call) is { } call && TryTake(ref _calls[i].Call, call))
            {
                abandoned++;
                _run.GiveUpParked(_first + i, call);
                _run.EndUnsuccessful(_first + i, status, error);
            }
        }
    }

    /// <summary>Gives up the items whose time is over.</summary>
    /// <param name="left">The time until something else has to be looked at.</param>
    /// <returns>The time until the next look.</returns>
    public TimeSpan CheckDeadlines(TimeSpan left)
    {
        long now = _run.Time.GetTimestamp();
        for (int i = 0; i < _calls.Length; i++)
        {
            if (Volatile.Read(ref _calls[i].Call) is not { } call)
            {
                continue;
            }

            TimeSpan due = _run.Time.GetElapsedTime(now, _limits![i].Deadline);
            if (due > TimeSpan.Zero)
            {
                left = due < left ? due : left;
            }
            else if (TryTake(ref _calls[i].Call, call))
            {
                HandOver(i, call);
            }
        }

        return left;
    }

    protected override bool MayEnter() => true;

    protected override void Drive(bool isOnOwnThread)
    {
        for (int i = 0; i < _calls.Length; i++)
        {
            if (TryTakeEnded(i) is { } call)
            {
                _run.EndParked(_first + i, call, isOnOwnThread);
            }
        }
    }

    protected override void Lost(Exception error)
    {
        for (int i = 0; i < _calls.Length; i++)
        {
            if (TryTakeEnded(i) is { } call)
            {
                _run.LoseParked(_first + i, call, error);
            }
        }
    }

    private static bool TryTake(ref Task? slot, Task call) => Interlocked.CompareExchange(ref slot, null, call) == call;

    private Task? TryTakeEnded(int i)
    {
        ref Task? slot = ref _calls[i].Call;
        return Volatile.Read(ref slot) is { IsCompleted: true } call && TryTake(ref slot, call) ? call : null;
    }

    /// <summary>A new worker records that the item of a call was given up.</summary>
    private void HandOver(int i, Task call)
    {
        PumpWorker worker;
        try
        {
            _run.GiveUpParked(_first + i, call);
            Exception error = _run.ItemTimedOut(_first + i);
            SafeCancel.Later(_limits![i].Stop!);
            FaultPoint.Pass("PumpWorker.GiveUpParked", _run);
            worker = _run.CreateForParked();
            worker.HandOver(_first + i, error);
        }
        catch (Exception e)
        {
            _run.LoseGivenUp(e);
            return;
        }

        worker.QueueHandedOver();
    }

    /// <summary>Where a call waits. An array of these needs no check of its type at each look, as one of references does.</summary>
    private struct Slot
    {
        public Task? Call;
    }

    /// <summary>When an item is given up, and what tells it so.</summary>
    private readonly record struct Limit(long Deadline, CancellationTokenSource? Stop);
}
