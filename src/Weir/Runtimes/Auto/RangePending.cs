using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;

namespace Weir.Runtimes;

/// <summary>A range that has run as far as it could, or that waits for its last item.</summary>
internal readonly struct RangePending<TItem, TResult> : IPending<ItemRange<TItem, TResult>>
{
    private readonly ItemRange<TItem, TResult> _range;
    private readonly ValueTask<TResult> _task;
    private readonly bool _waits;

    /// <summary>A range that does not wait for an item.</summary>
    public RangePending(ItemRange<TItem, TResult> range)
    {
        _range = range;
        _task = default;
        _waits = false;
    }

    /// <summary>A range that waits for its last item.</summary>
    public RangePending(ItemRange<TItem, TResult> range, ValueTask<TResult> task)
    {
        _range = range;
        _task = task;
        _waits = true;
    }

    public bool IsCompleted
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => !_waits || _task.IsCompleted;
    }

    public bool IsCompletedSuccessfully => !_waits || _task.IsCompletedSuccessfully;

    public ItemRange<TItem, TResult> GetResult()
    {
        if (_waits)
        {
            ItemOutcome<TResult> outcome;
            try
            {
                outcome = ItemOutcome<TResult>.Success(_task.GetAwaiter().GetResult());
            }
            catch (Exception e)
            {
                outcome = _range.Failed(e);
            }

            _range.HasWaited(outcome);
        }

        return _range;
    }

    public Task? Until => null;

    public bool CanBeTask => false;

    public void BecomeTask()
    {
    }

    public void OnCompleted(Action continuation)
    {
        if (_waits)
        {
            _task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);
        }
        else
        {
            continuation();
        }
    }
}
