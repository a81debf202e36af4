namespace Weir.Cli.Commands.Load.Arms;

/// <summary>Pushes the same batches through a peer, and adds up the results alike.</summary>
/// <remarks>
/// A peer stores the result of each item of a batch in a new array, in input order, as a runtime does. It has no outcome for a failed
/// item, so if items fail, its work catches the exception and returns a marker instead.
/// </remarks>
internal sealed class PeerArm
{
    private readonly Peer _peer;
    private readonly int _degree;
    private readonly Func<int, CancellationToken, ValueTask<int>> _processor;
    private long _done;

    public PeerArm(Peer peer, LoadWork work, LoadSettings settings)
    {
        _peer = peer;
        _degree = settings.PeerDegree;
        _processor = settings.FailRate > 0 ? Guarded(work.Processor) : work.Processor;
    }

    /// <summary>How many items have been done, in whole batches.</summary>
    public long ItemsDone => Volatile.Read(ref _done);

    public async ValueTask<PassResult> RunAsync(ItemBatches batches, CancellationToken cancellationToken)
    {
        long sum = 0;
        long failed = 0;
        long count = 0;
        for (long first = 0; first < batches.Count; first += batches.BatchSize)
        {
            int[] items = batches.From((int)first);
            int[] results = await _peer.RunAsync(items, _degree, _processor, cancellationToken);
            sum += Add(results, (int)first, ref failed);
            count += results.Length;
            Volatile.Write(ref _done, _done + results.Length);
        }

        return new PassResult(count, sum) { Failed = failed };
    }

    private static long Add(int[] results, int first, ref long failed)
    {
        long sum = 0;
        for (int i = 0; i < results.Length; i++)
        {
            if (results[i] == LoadWork.Failed)
            {
                failed++;
            }

            sum += ItemChecksum.Part(results[i], first + i);
        }

        return sum;
    }

    private static Func<int, CancellationToken, ValueTask<int>> Guarded(Func<int, CancellationToken, ValueTask<int>> processor) =>
        (item, cancellationToken) =>
        {
            ValueTask<int> pending = processor(item, cancellationToken);
            return pending.IsCompletedSuccessfully ? pending : FinishAsync(pending);
        };

    private static async ValueTask<int> FinishAsync(ValueTask<int> pending)
    {
        try
        {
            return await pending;
        }
        catch (IntendedFailureException)
        {
            return LoadWork.Failed;
        }
    }
}
