using System.Runtime.CompilerServices;

namespace Weir.Core.Sinks;

/// <summary>Keeps no results, only the end of the run, for calls that have none.</summary>
internal readonly struct DiscardSink(TaskCompletionSource completion) : ISink<Nothing>
{
    private readonly TaskCompletionSource _completion = completion;

    public bool HasSlots => false;

    public long Ceiling => long.MaxValue;

    public Span<Nothing> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, Nothing result)
    {
    }

    public void Unsuccessful(long index, ItemStatus status, Exception? error)
    {
    }

    public void Complete(RunEnd end)
    {
        switch (end.Result)
        {
            case RunResult.Cancelled:
                _completion.TrySetCanceled(end.Cancelled!.Value);
                break;
            case RunResult.Failed:
                _completion.TrySetException(end.Failures!.Single!);
                break;
            case RunResult.FailedInPart:
                _completion.TrySetException(new ItemsFailedException(end.Failures!.Collected!));
                break;
            default:
                _completion.TrySetResult();
                break;
        }
    }
}
