namespace Weir.Dataflow;

/// <summary>Moves an asynchronous sequence into a block.</summary>
internal static class SequenceReader
{
    public static async Task ReadAsync<T>(IAsyncEnumerable<T> items, BufferBlock<T> buffer, CancellationToken token)
    {
        try
        {
            await foreach (T item in items.WithCancellation(token).ConfigureAwait(false))
            {
                if (!await buffer.SendValueAsync(item, CancellationToken.None).ConfigureAwait(false))
                {
                    // Completed from outside, failed or cancelled: leaving the loop disposes the enumerator.
                    return;
                }
            }

            buffer.Complete();
        }
        catch (OperationCanceledException) when (token.IsCancellationRequested)
        {
            buffer.Complete();
        }
        catch (Exception e)
        {
            ((System.Threading.Tasks.Dataflow.IDataflowBlock)buffer).Fault(e);
        }
    }
}
