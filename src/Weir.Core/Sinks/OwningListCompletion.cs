using System.Runtime.InteropServices;

namespace Weir.Core.Sinks;

/// <summary>As its base, but disposes of the results of a run that failed or was cancelled, before the caller's task ends.</summary>
internal sealed class OwningListCompletion<TResult>(int count, UnusedResults<TResult> unused) : ListCompletion<TResult>(count)
{
    protected override void CompleteWithoutResults(RunEnd end, Segments<TResult>? segments)
    {
        Gather(end, segments);
        Task disposing = unused.DisposeAsync(CollectionsMarshal.AsSpan(List));
        if (disposing.IsCompleted)
        {
            base.CompleteWithoutResults(end, segments);
        }
        else
        {
            disposing.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(() => base.CompleteWithoutResults(end, segments));
        }
    }
}
