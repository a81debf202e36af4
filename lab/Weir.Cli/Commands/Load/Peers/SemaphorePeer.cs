namespace Weir.Cli.Commands.Load.Peers;

/// <summary>A task for each item, and a semaphore that bounds how many run.</summary>
internal sealed class SemaphorePeer : Peer
{
    public override string Name => "WhenAll + semaphore";

    public override async Task RunAsync(PeerBatch batch)
    {
        using SemaphoreSlim semaphore = new(batch.Degree);
        List<Task> tasks = new(batch.Items.Length);
        try
        {
            foreach (int item in batch.Items)
            {
                await semaphore.WaitAsync(batch.Token).ConfigureAwait(false);
                tasks.Add(Task.Run(
                    async () =>
                    {
                        try
                        {
                            await batch.RunAsync(item).ConfigureAwait(false);
                        }
                        finally
                        {
                            semaphore.Release();
                        }
                    },
                    CancellationToken.None));
            }
        }
        finally
        {
            // Also when stopped: what runs still holds the semaphore.
            await Task.WhenAll(tasks).ConfigureAwait(false);
        }
    }
}
