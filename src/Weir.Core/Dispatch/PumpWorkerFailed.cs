using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <content>What becomes of an item that failed.</content>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>
{
    /// <summary>Records an item that ended without a result, and calls the hook for it.</summary>
    private Done Fail(long index, ItemStatus status, Exception error)
    {
        _unsuccessful++;
        if (run.IsOver && error is OperationCanceledException && status != ItemStatus.TimedOut)
        {
            // The answer to our own cancellation, not an error.
            run.Sink.Unsuccessful(index, run.StoppedAs, run.StoppedError);
            return Done.Ready;
        }

        // Read before the failure is kept: of several at once, the hook is told of the one that is thrown, whoever stops the run.
        bool late = run.IsOver;
        run.Sink.Unsuccessful(index, status, error);
        if (run.Failures.AddItem(index, error))
        {
            run.Stop();
        }

        return !late && run.Settings.OnError is { } hook && run.Failures.Reports(index, error)
            ? Aside(CallErrorHook(hook, index, error))
            : Done.Ready;
    }

    private async Task CallErrorHook(Func<long, Exception, ValueTask<bool>> hook, long index, Exception error)
    {
        try
        {
            if (!await hook(index, error).ConfigureAwait(false))
            {
                run.Stop();
            }
        }
        catch (Exception e)
        {
            if (run.Failures.AddItem(index, e))
            {
                run.Stop();
            }
        }
    }
}
