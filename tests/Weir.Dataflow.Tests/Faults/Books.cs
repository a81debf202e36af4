using System.Collections.Concurrent;
using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Tests.Faults;

/// <summary>What became of the messages, the waits and the blocks of one network.</summary>
internal sealed class Books
{
    private readonly ConcurrentQueue<int> _accepted = [];
    private readonly ConcurrentQueue<int> _delivered = [];
    private readonly ConcurrentQueue<Exception> _errors = [];
    private readonly ConcurrentDictionary<string, int> _open = new();

    /// <summary>What callers and blocks were told.</summary>
    public IReadOnlyCollection<Exception> Errors => _errors;

    /// <summary>What is still waited for.</summary>
    public string Open => string.Join(", ", _open.Where(static o => o.Value > 0).Select(static o => o.Key));

    public IEnumerable<int> Accepted => _accepted.Order();

    public IEnumerable<int> Delivered => _delivered.Order();

    public void Deliver(int item) => _delivered.Enqueue(item);

    public void Deliver(IEnumerable<int> items)
    {
        foreach (int item in items)
        {
            Deliver(item);
        }
    }

    /// <summary>Waits for the end of something that must end, and keeps its error.</summary>
    public async Task EndOf(Task task, string what)
    {
        _open.AddOrUpdate(what, 1, static (_, count) => count + 1);
        try
        {
            await task;
        }
        catch (Exception e)
        {
            _errors.Enqueue(e);
        }

        _open.AddOrUpdate(what, 0, static (_, count) => count - 1);
    }

    /// <summary>Sends one message after the other.</summary>
    public async Task Send(ITargetBlock<int> target, IEnumerable<int> items)
    {
        foreach (int item in items)
        {
            await Send(target, item, default);
        }
    }

    public Task Send(ITargetBlock<int> target, int item, CancellationToken token) =>
        EndOf(Note(target.SendAsync(item, token), item), "a send");

    /// <summary>Sends and then completes the first block, waits for the last one, and takes what the first one is left with if the last one failed.</summary>
    public async Task Through<T>(ITargetBlock<int> first, ISourceBlock<T> left, IEnumerable<int> items, params IDataflowBlock[] last)
    {
        Task sends = SendAllAsync();
        foreach (IDataflowBlock block in last)
        {
            await EndOf(block.Completion, $"the last block: {block}");
        }

        left.LinkTo(DataflowBlock.NullTarget<T>());
        await sends;
        await EndOf(left.Completion, $"the first block: {left}");

        async Task SendAllAsync()
        {
            await Send(first, items);
            first.Complete();
        }
    }

    /// <summary>Receives until there is no more.</summary>
    public async Task Receive<T>(ISourceBlock<T> source, Action<T> deliver)
    {
        IReceivableSourceBlock<T> receivable = (IReceivableSourceBlock<T>)source;
        bool more = true;
        while (more)
        {
            Task<bool> available = source.OutputAvailableAsync();
            await EndOf(available, "a wait for output");
            more = available.IsCompletedSuccessfully && available.Result;
            while (more && receivable.TryReceive(out T? item))
            {
                deliver(item);
            }
        }

        await EndOf(source.Completion, $"the source: {source}");
    }

    private async Task Note(Task<bool> sent, int item)
    {
        if (await sent)
        {
            _accepted.Enqueue(item);
        }
    }
}
