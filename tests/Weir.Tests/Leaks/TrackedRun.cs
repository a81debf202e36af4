using System.Runtime.CompilerServices;

namespace Weir.Tests.Leaks;

/// <summary>
/// One run whose objects a test knows by weak references only: source, items, results, delegate, closure, context, token source and exceptions.
/// </summary>
internal sealed class TrackedRun(Held held, string name, Ending ending)
{
    /// <summary>Whether all kinds of runs take too long for each change. In Debug they do, and find no other leak than in Release.</summary>
    public const bool IsLong =
#if DEBUG
        true;
#else
        false;
#endif

    private static readonly AsyncLocal<object?> Context = new();

    public delegate Task Start(IEnumerable<Item> source, Func<Item, CancellationToken, ValueTask<Result>> call, bool leaves, CancellationToken token);

    /// <summary>Makes the run and waits for its end, whatever it is.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public async Task RunAsync(Start start, bool isLazy, Func<CancellationTokenSource, Task>? meanwhile = null)
    {
        Context.Value = Add("AsyncLocal value", new object());
        CancellationTokenSource caller = Add("token source", new CancellationTokenSource());
        Item[] items = Add("source", Enumerable.Range(0, 5).Select(index => Add("item", new Item(index))).ToArray());
        Call call = Add("closure", new Call(this, caller));
        Task run = start(
            isLazy ? Add("sequence", Lazy(items)) : items,
            Add("delegate", (Func<Item, CancellationToken, ValueTask<Result>>)call.InvokeAsync),
            ending == Ending.IsLeft,
            caller.Token);
        try
        {
            if (meanwhile is not null)
            {
                await meanwhile(caller);
            }

            await run.WithinAsync(name);
        }
        catch (Exception e) when (e is not TimeoutException)
        {
            Add("thrown exception", e);
        }
    }

    private static IEnumerable<Item> Lazy(Item[] items)
    {
        foreach (Item item in items)
        {
            yield return item;
        }
    }

    private T Add<T>(string what, T value)
        where T : class => held.Add($"{name}, {ending}: {what}", value);

    public sealed class Item(int index)
    {
        public int Index => index;
    }

    public sealed class Result(Item item)
    {
        public Item Item => item;
    }

    private sealed class Call(TrackedRun run, CancellationTokenSource caller)
    {
        public async ValueTask<Result> InvokeAsync(Item item, CancellationToken token)
        {
            if (item.Index % 2 == 0)
            {
                await Task.Yield();
            }

            if (item.Index == 2)
            {
                await EndAsync(token);
            }

            return run.Add("result", new Result(item));
        }

        private async Task EndAsync(CancellationToken token)
        {
            switch (run.Ending)
            {
                case Ending.Fails:
                    throw run.Add("exception", new TestException("as planned"));
                case Ending.IsCancelled:
                    await caller.CancelAsync();
                    token.ThrowIfCancellationRequested();
                    break;
                case Ending.TimesOut:
                    await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                    break;
                case Ending.TimesOutForever:
                    await new TaskCompletionSource().Task;
                    break;
            }
        }
    }

    private Ending Ending => ending;
}
