using System.Runtime.CompilerServices;
using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;
using Leak = Weir.TestKit.Leak;

namespace Weir.Dataflow.Tests.Issues;

/// <summary>A block that has nothing to do keeps nothing of whoever used it last.</summary>
public class ContextTests
{
    private static readonly AsyncLocal<object?> Local = new();

    [Theory(Timeout = Eventually.Limit)]
    [InlineData(1, false)]
    [InlineData(4, false)]
    [InlineData(1, true)]
    [InlineData(4, true)]
    public async Task Blocks_Idle_KeepNoContext(int degree, bool completed)
    {
        var subjects = new List<Subject>();
        var contexts = new List<WeakReference>();
        foreach (BlockKind kind in Kinds.Everything)
        {
            int seen = 0;
            int flowed = 0;
            var settings = new BlockSettings
            {
                Degree = degree,
                Body = _ => Interlocked.Add(ref flowed, Local.Value is null ? 0 : 1),
            };
            Subject subject = new WeirBlocks().Create(kind, settings);
            if (Kinds.HasOutput(kind))
            {
                subject.Output.LinkTo(new ProbeTarget<object>((_, _) =>
                {
                    Interlocked.Increment(ref seen);
                    return DataflowMessageStatus.Accepted;
                }));
            }

            WeakReference used = Use(subject);
            Eventually.True(() => !Kinds.HasOutput(kind) || Volatile.Read(ref seen) == 1);
            Eventually.True(() => !Kinds.Executes(kind) || Volatile.Read(ref flowed) == 1, $"{kind}: the delegate does not run where the poster was.");
            if (completed)
            {
                subject.Block.Complete();
                Eventually.True(() => subject.Completion.IsCompleted);
            }

            subjects.Add(subject);
            contexts.Add(used);
        }

        await Leak.GoneAsync(contexts, "the contexts");
        GC.KeepAlive(subjects);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static WeakReference Use(Subject subject)
    {
        WeakReference? used = null;
        var thread = new Thread(() =>
        {
            object held = new();
            used = new WeakReference(held);
            Local.Value = held;
            Assert.True(subject.Feed("a"));
        });
        thread.Start();
        thread.Join();
        return used!;
    }
}
