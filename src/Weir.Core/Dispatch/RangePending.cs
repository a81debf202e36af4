using System.Runtime.CompilerServices;
using Weir.Core.Metering;

namespace Weir.Core.Dispatch;

/// <summary>A range that has run as far as it could, or that waits for its last item.</summary>
internal readonly struct RangePending(WorkRange range, bool waits) : IPending<WorkRange>
{
    private readonly WorkRange _range = range;
    private readonly bool _waits = waits;

    public bool IsCompleted
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => !_waits || _range.HasItemEnded;
    }

    public bool IsCompletedSuccessfully => !_waits || _range.HasItemSucceeded;

    public WorkRange GetResult()
    {
        if (_waits)
        {
            _range.TakeItem();
        }

        return _range;
    }

    public Task? Until => null;

    public WaitKind WaitsFor => default;

    public bool CanBeParked => false;

    public void BecomeTask()
    {
        if (_waits)
        {
            _range.ItemBecomesTask();
        }
    }

    public void OnCompleted(Action continuation)
    {
        if (_waits)
        {
            _range.OnItemEnded(continuation);
        }
        else
        {
            continuation();
        }
    }
}
