using System.Diagnostics;
using System.Reflection;
using System.Text.RegularExpressions;
using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Additions;

/// <summary>What a debugger shows: found and evaluated as a debugger does it, from the attributes.</summary>
public class DebuggerTests
{
    private static readonly WeirBlocks Blocks = new();

    public static TheoryData<string> PublicBlocks =>
        [.. typeof(BufferBlock<>).Assembly.GetExportedTypes()
            .Where(static t => t is { IsAbstract: false } && t.IsAssignableTo(typeof(IDataflowBlock)))
            .Select(static t => t.Name)];

    [Theory]
    [MemberData(nameof(PublicBlocks))]
    public void Type_OfEveryBlock_HasADisplayAndAProxy(string name)
    {
        Type block = typeof(BufferBlock<>).Assembly.GetExportedTypes().Single(t => t.Name == name);
        Assert.NotNull(block.GetCustomAttribute<DebuggerDisplayAttribute>());
        Assert.NotNull(block.GetCustomAttribute<DebuggerTypeProxyAttribute>());
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void Display_NewBlock_IsNameAndCounts(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind, new BlockSettings { NameFormat = "intake", BatchSize = 3 });
        string batch = kind is BlockKind.Batch or BlockKind.BatchedJoin2 or BlockKind.BatchedJoin3 ? ", BatchSize=3" : "";
        string input = Kinds.Executes(kind) || kind == BlockKind.Broadcast ? ", InputCount=0" : "";
        string output = Kinds.Queues(kind) ? ", OutputCount=0" : kind is BlockKind.Broadcast or BlockKind.WriteOnce ? ", HasValue=False" : "";
        Assert.Equal("intake" + batch + input + output, Display(subject.Block));
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void Proxy_EveryProperty_CanBeRead(BlockKind kind)
    {
        object view = Proxy(Blocks.Create(kind).Block);
        Assert.All(view.GetType().GetProperties(), property => property.GetValue(view));
        Assert.False((bool)Value(view, "IsCompleted")!);
        Assert.NotNull(Value(view, "Options"));
    }

    [Fact(Timeout = Eventually.Limit)]
    public void Proxy_BlockAtWork_ShowsWhatWaits()
    {
        using Gate gate = new();
        Weir.Dataflow.TransformBlock<string, string> block = new(s => { gate.Pass(); return s; }, new ExecutionDataflowBlockOptions { BoundedCapacity = 3 });
        block.Post("held");
        gate.AwaitArrivals();
        block.Post("one");
        block.Post("two");
        Task<bool> sent = block.SendAsync("waits");
        ProbeTarget<string> target = new();
        block.LinkTo(target);
        object view = Proxy(block);
        // The worker may have looked at what it takes next.
        Assert.Equal(["one", "two"], ((string[])Value(view, "Input")!)[^2..]);
        Assert.Equal(1, Value(view, "PostponedCount"));
        Assert.Equal<object>([target], (object[])Value(view, "LinkedTargets")!);
        Assert.Equal(false, Value(view, "IsDeclining"));
        gate.Open();
        Eventually.True(() => sent.IsCompleted && target.Ids.Length == 4);
    }

    [Fact]
    public void Proxy_QueueThatWrapped_ShowsItInOrder()
    {
        Weir.Dataflow.BufferBlock<int> block = new();
        for (int i = 0; i < 100; i++)
        {
            block.Post(i);
            if (i % 2 == 0)
            {
                block.Receive();
            }
        }

        Assert.Equal(Enumerable.Range(50, 50), (int[])Value(Proxy(block), "Output")!);
        Assert.Matches(new Regex("^BufferBlock`1 Id=\\d+, OutputCount=50$"), Display(block));
    }

    [Fact(Timeout = Eventually.Limit)]
    public async Task Display_WhileALockIsHeld_WaitsForNobody()
    {
        // The head is offered under the output side's lock: what the debugger stopped there would keep it for ever.
        using Gate gate = new();
        Weir.Dataflow.BufferBlock<int> block = new();
        block.LinkTo(new Weir.Dataflow.ActionBlock<int>(static _ => { }), _ => { gate.Pass(); return true; });
        block.Post(1);
        gate.AwaitArrivals();
        Assert.EndsWith("OutputCount=1", await Eventually.Result(Task.Run(() => Display(block))), StringComparison.Ordinal);
        gate.Open();
    }

    [Fact(Timeout = Eventually.Limit)]
    public async Task Proxy_MessageForEverybody_IsShown()
    {
        Weir.Dataflow.WriteOnceBlock<string> once = new(null);
        once.Post("a");
        await Eventually.Done(once.Completion);
        Weir.Dataflow.BroadcastBlock<string> broadcast = new(null);
        broadcast.Post("b");
        Eventually.True(() => broadcast.TryReceive(out _));
        Assert.Equal("a", Value(Proxy(once), "Value"));
        Assert.Equal(true, Value(Proxy(once), "IsCompleted"));
        Assert.Equal("b", Value(Proxy(broadcast), "Value"));
        Assert.EndsWith("HasValue=True", Display(broadcast), StringComparison.Ordinal);
    }

    [Fact(Timeout = Eventually.Limit)]
    public async Task Proxy_WhileOthersReadAndWrite_Throws_Nothing()
    {
        int seen = 0;
        Weir.Dataflow.ActionBlock<string> block = new(_ => Interlocked.Increment(ref seen));
        Task posting = Task.Run(() =>
        {
            block.PostAll(Enumerable.Repeat("item", 100_000));
            block.Complete();
        });
        while (!block.Completion.IsCompleted)
        {
            Assert.True(((string[])Value(Proxy(block), "Input")!).Length <= 100_000);
        }

        await Eventually.Done(posting);
        Assert.Equal(100_000, seen);
    }

    [Fact]
    public void Proxy_ReliableBroadcast_ShowsItsLinks()
    {
        Weir.Dataflow.ReliableBroadcastBlock<int> block = new(null);
        ProbeTarget<int> target = new();
        using IDisposable link = block.LinkTo(target);
        Assert.Equal<object>([target], (object[])Value(Proxy(block), "LinkedTargets")!);
        Assert.EndsWith(", InputCount=0", Display(block), StringComparison.Ordinal);
    }

    [Fact]
    public void Display_EveryInternalBlock_HasOne()
    {
        IEnumerable<Type> without = typeof(BufferBlock<>).Assembly.GetTypes()
            .Where(static t => t is { IsAbstract: false, IsInterface: false } && t.IsAssignableTo(typeof(IDataflowBlock)))
            .Where(static t => t.GetCustomAttribute<DebuggerDisplayAttribute>() is null);
        Assert.Empty(without);
    }

    [Theory]
    [InlineData(BlockKind.Join2)]
    [InlineData(BlockKind.Join3)]
    [InlineData(BlockKind.BatchedJoin2)]
    [InlineData(BlockKind.BatchedJoin3)]
    public void Display_TargetOfAJoin_IsItsPlaceAndCount(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind, new BlockSettings { NameFormat = "pairs", BatchSize = 9 });
        subject.Inputs[1].Post("a");
        Assert.Equal("Target1 of pairs, InputCount=0", Display(subject.Input));
        Assert.Equal("Target2 of pairs, InputCount=1", Display(subject.Inputs[1]));
        Assert.Equal(["a"], (string[])Value(Proxy(subject.Inputs[1]), "Input")!);
        Assert.Equal(false, Value(Proxy(subject.Input), "IsCompleted"));
    }

    [Fact]
    public void Display_Link_IsItsEndsUntilItIsDisposedOf()
    {
        DataflowBlockOptions named = new() { NameFormat = "from" };
        ExecutionDataflowBlockOptions to = new() { NameFormat = "to" };
        Weir.Dataflow.ActionBlock<string> target = new(static _ => { }, to);
        foreach (ISourceBlock<string> source in new ISourceBlock<string>[]
        {
            new Weir.Dataflow.BufferBlock<string>(named),
            new Weir.Dataflow.BroadcastBlock<string>(null, named),
            new Weir.Dataflow.WriteOnceBlock<string>(null, named),
        })
        {
            IDisposable link = source.LinkTo(target, new DataflowLinkOptions());
            Assert.Equal("Source=from, Target=to", Display(link));
            link.Dispose();
            Assert.Equal("Not linked", Display(link));
        }
    }

    [Fact]
    public void Display_SecondLinkOfATarget_SaysSo()
    {
        Weir.Dataflow.BufferBlock<string> source = new();
        Weir.Dataflow.ActionBlock<string> target = new(static _ => { }, new ExecutionDataflowBlockOptions { NameFormat = "to" });
        source.LinkTo(target);
        source.LinkTo(target);
        source.LinkTo(target, static _ => true);
        object[] links = (object[])Value(Proxy(source), "LinkedTargets")!;
        Assert.Equal(["to", "to, linked again", "to, linked with a predicate"], links.Select(static l => $"{l}"));
        Assert.Equal("to, linked again", Display(links[1]));
        Assert.StartsWith("Target=to, Source=BufferBlock", Display(Weir.Dataflow.DataflowBlocks.Encapsulate(target, source)), StringComparison.Ordinal);
    }

    // "{Name,nq}", the property of the class that has the attribute.
    private static string Display(object block)
    {
        Type type = block.GetType();
        while (type.GetCustomAttribute<DebuggerDisplayAttribute>(inherit: false) is null)
        {
            type = type.BaseType!;
        }

        string property = Regex.Match(type.GetCustomAttribute<DebuggerDisplayAttribute>()!.Value, @"^\{(\w+),nq\}$").Groups[1].Value;
        return (string)type.GetProperty(property, BindingFlags.Instance | BindingFlags.NonPublic)!.GetValue(block)!;
    }

    private static object Proxy(object block) =>
        Activator.CreateInstance(Type.GetType(block.GetType().GetCustomAttribute<DebuggerTypeProxyAttribute>()!.ProxyTypeName)!, block)!;

    private static object? Value(object view, string property) => view.GetType().GetProperty(property)!.GetValue(view);
}
