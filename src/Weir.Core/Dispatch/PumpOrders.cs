using System.Diagnostics.CodeAnalysis;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <summary>
/// What a run that is paused, stopped and limited from outside keeps about it. Guarded by the lock of the run, unless said otherwise. Each item begins under
/// the lock, so what holds once an order has returned is exact: no item begins while the run is paused or stopped, or above the limit.
/// </summary>
internal sealed class PumpOrders(ControlledSettings settings)
{
    public readonly ControlledSettings Settings = settings;

    public RunControl.Order Order;

    /// <summary>Ends the reading, for sources that take turns. Set before the start.</summary>
    public CancellationTokenSource? Reading;

    /// <summary>Whether the order is to stop. Read without the lock.</summary>
    public volatile bool StopsReading;

    /// <summary>How many items have begun.</summary>
    public long Begun;

    /// <summary>What the run itself, or what adapts it, sets as the limit.</summary>
    public int OwnLimit = settings.Limit;

    /// <summary>The limit that holds: the ordered one, or the run's own.</summary>
    /// <param name="isMoved">Whether the run's own limit moves, so that both hold.</param>
    public int Limit(bool isMoved) => Order.Limit is not { } ordered ? OwnLimit : isMoved || Settings.MovesLimit ? Math.Min(ordered, OwnLimit) : ordered;

    /// <summary>Begins an item, if it may begin now.</summary>
    /// <param name="isNew">Whether it has not begun before. An item that comes back for another attempt goes on while the run is paused or stops.</param>
    /// <param name="source">Where it comes from.</param>
    public bool TryBegin(bool isNew, Source source)
    {
        if (isNew && (Order.IsPaused || (Order.IsStopped && !source.BeginsWhatWasRead)))
        {
            return false;
        }

        Begun += isNew ? 1 : 0;
        return true;
    }

    /// <summary>What the source is told.</summary>
    public SourceHold Hold => Order.IsStopped ? SourceHold.Stopped : Order.IsPaused ? SourceHold.Paused : SourceHold.None;
}

/// <summary>The settings of a run that is paused, stopped and limited from outside. Of their own, so that no other run carries them.</summary>
internal sealed record ControlledSettings : PumpSettings
{
    public readonly RunControl Control;

    /// <summary>Whether the limit of <see cref="Control"/> is only a ceiling, because something else moves the run's own limit.</summary>
    public bool MovesLimit;

    /// <summary>Called when <see cref="Control"/> sets another limit.</summary>
    public Action<int>? OnLimit;

    [SetsRequiredMembers]
    public ControlledSettings(PumpSettings settings, RunControl control)
        : base(settings) => Control = control;
}

/// <summary>
/// The pauses of a run's reading, if somebody wants to know of them. They begin and end alternately, and one hook follows the other. Changed under the run's
/// lock only.
/// </summary>
internal sealed class PauseState
{
    private Hook? _lastHook;
    private long _pausedAt;

    /// <summary>
    /// Whether reading pauses. Workers read it without the lock at each claim: one that misses a pause that has just begun has claimed before it.
    /// </summary>
    public volatile bool IsPaused;

    public long Throttles { get; private set; }

    public long Drains { get; private set; }

    public void BeginNeedsLock(long nextIndex)
    {
        IsPaused = true;
        Throttles++;
        _pausedAt = nextIndex;
    }

    /// <summary>Ends the pause, if items that were not read before it were claimed, up to an index.</summary>
    public bool TryEndNeedsLock(long end)
    {
        if (!IsPaused || end <= _pausedAt)
        {
            return false;
        }

        IsPaused = false;
        Drains++;
        return true;
    }

    /// <summary>Takes the place of a hook's call in the queue. The hook itself is called later, under no lock.</summary>
    public Hook QueueNeedsLock(Pump run, Func<long, ValueTask> hook) => _lastHook = new Hook(run, hook, _lastHook);

    /// <summary>A call to a hook that has its place in the queue.</summary>
    internal sealed class Hook(Pump run, Func<long, ValueTask> hook, Hook? before)
    {
        private readonly TaskCompletionSource _done = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private Hook? _before = before;

        /// <summary>Calls the hook once the one before it has ended. Called once.</summary>
        public async Task RunAsync()
        {
            if (_before is { } before)
            {
                await before._done.Task.ConfigureAwait(false);
                _before = null;
            }

            try
            {
                await hook(run.NextIndex).ConfigureAwait(false);
            }
            catch (Exception e)
            {
                run.HookFailed(e);
            }
            finally
            {
                _done.SetResult();
            }
        }
    }
}
