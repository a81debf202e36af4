using System.Collections.Concurrent;
using System.Globalization;
using System.Text;

namespace Weir.Explore.Tests;

/// <summary>
/// A search with reduction finds what one without it finds: the same ends, and the same kinds of failures, at each number of preemptions, in at most as many
/// schedules.
/// </summary>
public partial class ReductionTests(ITestOutputHelper output)
{
    private const string Ends = "Weir.Explore.Tests.Ends";

    private static readonly string[] Few = ["volatile fields", "locks"];

    public static TheoryData<string> FewKinds => [.. Few];

    public static TheoryData<string> OtherKinds => [.. Programs.Keys.Except(Few)];

    [Theory]
    [MemberData(nameof(FewKinds))]
    public void Kind_WithReduction_HasTheSameEnds(string kind)
    {
        Compare(kind, async () => End(await Programs[kind]()));
    }

    [Theory(Explicit = true, DisableDiscoveryEnumeration = true)]
    [MemberData(nameof(OtherKinds))]
    public void OtherKind_WithReduction_HasTheSameEnds(string kind) => Kind_WithReduction_HasTheSameEnds(kind);

    [Theory(Explicit = true, DisableDiscoveryEnumeration = true)]
    [MemberData(nameof(Seeds))]
    public void Generated_WithReduction_HasTheSameEnds(int seed)
    {
        Compare($"seed {seed}", async () => End(await new GeneratedProgram(seed).RunAsync()));
    }

    public static TheoryData<int> Seeds
    {
        get
        {
            int count = Environment.GetEnvironmentVariable("WEIR_EXPLORE_GENERATED") is { } number ? int.Parse(number, CultureInfo.InvariantCulture) : 12;
            return [.. Enumerable.Range(1, count)];
        }
    }

    [Fact]
    public void Threads_ThatShareNothing_HaveFewSchedules()
    {
        ExploreOptions options = new() { MaxPreemptions = 3 };
        static async Task Body()
        {
            Box[] boxes = [new(), new()];
            await Task.WhenAll(boxes.Select(static box => Task.Run(() =>
            {
                box.Flag++;
                box.Flag++;
            })));
        }

        ExploreResult full = Explore.Run(Body, options);
        ExploreResult reduced = Explore.Run(Body, options with { Reduction = true });
        output.WriteLine($"{full}\n{reduced}");
        Assert.True(reduced.IsExhausted);
        Assert.True(reduced.IsReduced);
        Assert.True(full.IsExhausted);
        Assert.True(reduced.Schedules * 2 < full.Schedules, reduced.ToString());
        Assert.Contains("all but equal ones", reduced.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void Reduction_WithDataRacesOrStoreBuffers_LeavesNoneOut()
    {
        static Task Body() => TwoAsync(static box => box.Flag++, static box => box.Seen++);
        foreach (ExploreOptions options in new ExploreOptions[] { new() { DataRaces = true }, new() { StoreBuffers = true } })
        {
            ExploreResult full = Explore.Run(Body, options);
            ExploreResult same = Explore.Run(Body, options with { Reduction = true });
            Assert.False(same.IsReduced);
            Assert.Equal(full.Schedules, same.Schedules);
        }
    }

    private void Compare(string name, Func<Task> body)
    {
        for (int preemptions = 0; preemptions < 3; preemptions++)
        {
            Compare(name, preemptions, body);
        }
    }

    private void Compare(string name, int preemptions, Func<Task> body)
    {
        ExploreOptions options = new() { MaxPreemptions = preemptions, MaxSchedules = 12_000, UnobservedExceptionsFail = false };
        (ExploreResult full, HashSet<string> ends) = Search(body, options);
        if (full is { Failure: null, IsExhausted: false })
        {
            // Three threads with many points. What is compared is compared wholly.
            output.WriteLine($"{name}, {preemptions} preemptions: {full}");
            Assert.Equal(1, full.ExhaustedPreemptions);
            return;
        }

        (ExploreResult reduced, HashSet<string> same) = Search(body, options with { Reduction = true });
        output.WriteLine($"{name}, {preemptions} preemptions: {full.Schedules} -> {reduced.Schedules} schedules, {ends.Count} ends, {full.Failure?.Kind}");
        Assert.Equal(full.Failure?.Kind, reduced.Failure?.Kind);
        if (full.Failure is null)
        {
            Assert.True(reduced.IsExhausted && reduced.IsReduced, reduced.ToString());
            Assert.Equal(ends.Order(StringComparer.Ordinal), same.Order(StringComparer.Ordinal));
            Assert.True(reduced.Schedules <= full.Schedules, $"{reduced.Schedules} of {full.Schedules}");
        }
        else
        {
            Assert.Equal(full.Failure.Preemptions, reduced.Failure!.Preemptions);
        }
    }

    private static (ExploreResult Result, HashSet<string> Ends) Search(Func<Task> body, ExploreOptions options)
    {
        HashSet<string> ends = [];
        AppDomain.CurrentDomain.SetData(Ends, ends);
        return (Explore.Search(body, options), ends);
    }

    /// <summary>The rewritten copy of this class tells the original of each end of a schedule that was not left.</summary>
    private static void End(string end)
    {
        if (Scheduling.Execution.Active!.SeenFrom == int.MaxValue)
        {
            ((HashSet<string>)AppDomain.CurrentDomain.GetData(Ends)!).Add(end);
        }
    }

    private static Action<Box> Marked(Action<Box> action) => box =>
    {
        Interlocked.Increment(ref box.Marks);
        action(box);
        Interlocked.Increment(ref box.Marks);
        action(box);
    };

    private static async Task<string> TwoAsync(Action<Box> first, Action<Box> second)
    {
        Box box = new();
        await Task.WhenAll(Task.Run(() => first(box)), Task.Run(() => second(box)));
        return box.ToString();
    }

    private static void Add(Box box, int item)
    {
        box.Flag++;
        box.List.Add(item);
    }

    private static async IAsyncEnumerable<int> ItemsAsync(Box box)
    {
        yield return box.Flag;
        await Task.Yield();
        yield return box.Flag + 1;
    }

    private sealed class Box
    {
        public readonly Lock Lock = new();
        public readonly SemaphoreSlim Semaphore = new(1);
        public readonly ManualResetEventSlim Event = new();
        public readonly int[] Items = [1, 2];
        public readonly List<int> List = [];
        public readonly Dictionary<string, int> Names = [];
        public readonly StringBuilder Text = new();
        public readonly ConcurrentQueue<int> Queue = new();
        public readonly ConcurrentDictionary<int, int> Map = new();
        public readonly Lazy<int> Late;
        public volatile int Flag;
        public volatile int Seen;
        public int Marks;
        public int Value;
        public int Other;
        public int? Maybe;
        public (int Item1, int Item2) Pair;
        public Box? Next;

        public Box() => Late = new Lazy<int>(() => Other + 1);

        public override string ToString() =>
            $"{Flag} {Seen} {Value} {Other} {Maybe} {Pair} {Next?.Value} {string.Join(',', Items)} {string.Join(',', List)} {Text} {Queue.Count} {Map.Count} " +
            string.Join(',', Names.Select(static p => $"{p.Key}{p.Value}"));
    }
}
