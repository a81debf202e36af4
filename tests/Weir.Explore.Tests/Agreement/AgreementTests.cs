using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;
using Mono.Cecil;
using Weir.Explore.Rewriting;

namespace Weir.Explore.Tests.Agreement;

/// <summary>
/// Explore's models against the platform: small random programs run on both, and whatever the platform shows has to be among what Explore shows when it is
/// exhausted. A search whose models are wrong says "exhausted" of what can fail.
/// </summary>
/// <remarks>
/// The platform shows what it happens to: a program runs many times there, with pauses of random lengths before its operations, on all processors and on one.
/// What Explore alone shows is printed: rare, or a model that allows too much. WEIR_EXPLORE_AGREEMENT is for how many seconds each kind of programs runs, on
/// programs of all seeds from WEIR_EXPLORE_AGREEMENT_SEED on; WEIR_EXPLORE_AGREEMENT_KIND is a part of the names of the kinds that run.
/// </remarks>
public class AgreementTests(ITestOutputHelper output)
{
    private const string Seen = "Weir.Explore.Tests.Agreement";
    private const int MostPreemptions = 6;

    // What runs as the platform has it, with rewritten points.
    private static readonly string[] OwnCode =
    [
        "System.Threading.CountdownEvent", "System.Threading.Barrier", "System.Threading.Channels.ChannelReader`1", "System.Threading.Channels.ChannelWriter`1",
    ];

    public static TheoryData<string> AllKinds =>
        [.. Programs.Kinds.Keys.Where(static k => k.Contains(Environment.GetEnvironmentVariable("WEIR_EXPLORE_AGREEMENT_KIND") ?? "", StringComparison.Ordinal))];

    [Theory]
    [MemberData(nameof(AllKinds))]
    public void Programs_OnThePlatform_DoNothingThatExploreDoesNot(string kind)
    {
        double seconds = Environment.GetEnvironmentVariable("WEIR_EXPLORE_AGREEMENT") is { } text ? double.Parse(text, CultureInfo.InvariantCulture) : 0;
        int first = Environment.GetEnvironmentVariable("WEIR_EXPLORE_AGREEMENT_SEED") is { } seed ? int.Parse(seed, CultureInfo.InvariantCulture) : 1;
        IEnumerable<int> seeds = seconds > 0 ? Enumerable.Range(first, 1_000_000) : Programs.Kinds[kind].Seeds;
        Stopwatch watch = Stopwatch.StartNew();
        int compared = 0;
        int left = 0;
        List<string> failures = [];
        ThreadPool.GetMinThreads(out int workers, out int ports);
        ThreadPool.SetMinThreads(Math.Max(workers, 16), ports);
        foreach (int number in seeds.TakeWhile(_ => seconds == 0 || watch.Elapsed.TotalSeconds < seconds))
        {
            Compare(kind, number, seconds > 0, failures, ref compared, ref left);
        }

        output.WriteLine($"{kind}: {compared} programs compared, {left} with too many schedules, {watch.Elapsed.TotalSeconds:0.0} s");
        Assert.True(failures.Count == 0, string.Join("\n\n", failures));
        Assert.True(compared > 0);
    }

    /// <summary>
    /// Each type that a model stands in for, or whose calls are points, and each that is rewritten for its threads is used by the programs of some kind: by the
    /// class that makes them, or what is nested in it. <see cref="MemberTests"/> has each member of the first.
    /// </summary>
    [Fact]
    public void EachType_ThatIsStoodInFor_HasAKind()
    {
        using ModuleDefinition module = ModuleDefinition.ReadModule(typeof(Programs).Assembly.Location);
        HashSet<string> used = [.. Nested(module.GetType(typeof(Programs).FullName)).SelectMany(static t => t.Methods).Where(static m => m.HasBody)
            .SelectMany(static m => m.Body.Instructions).Select(static i => i.Operand).OfType<MethodReference>()
            .Select(static m => m.DeclaringType.GetElementType().FullName)];
        string[] types = [.. ReplacementTable.OfModel.Types, .. Platform.Points, .. OwnCode];
        Assert.Empty(types.Except(used));

        static IEnumerable<TypeDefinition> Nested(TypeDefinition type) => type.NestedTypes.Concat(type.NestedTypes.SelectMany(Nested));
    }

    private void Compare(string kind, int seed, bool isLong, List<string> failures, ref int compared, ref int left)
    {
        string program = $"{kind}, seed {seed}: {Programs.Kinds[kind].Make().Describe(seed)}";
        Dictionary<string, int> shown = Task.Run(() => OnPlatformAsync(kind, seed, isLong ? 1_000 : 300)).GetAwaiter().GetResult();

        // Two threads that take turns at each operation need as many preemptions, nearly. The few programs of each build are known to need no more than two.
        int enough = isLong ? Math.Max(3, Programs.Kinds[kind].Make().Threads(seed).Sum(static t => t.Length)) : 2;
        HashSet<string> explored = [];
        string[] missing = [];
        ExploreResult? result = null;
        for (int preemptions = 0; preemptions <= MostPreemptions; preemptions++)
        {
            ExploreResult next;
            try
            {
                next = Search(kind, seed, preemptions, isLong ? 50_000 : 5_000, explored);
            }
            catch (ExploreException error)
            {
                failures.Add($"{program}\n  {error.Message}");
                return;
            }

            result = next.IsExhausted ? next : result;
            missing = [.. shown.Keys.Except(explored)];
            if (!next.IsExhausted || (missing.Length == 0 && preemptions > 0))
            {
                break;
            }
        }

        string[] wrong = [.. explored.Where(o => o.Contains('!', StringComparison.Ordinal)).Except(shown.Keys)];
        if (wrong.Length > 0)
        {
            failures.Add($"{program}\n  {result}\n  Explore shows what the platform rules out: {string.Join("   ", wrong)}");
        }
        else if (missing.Length == 0)
        {
            compared++;
            if (isLong && explored.Count > shown.Count)
            {
                output.WriteLine($"{program}\n  Explore alone: {string.Join("   ", explored.Except(shown.Keys))}");
            }
        }
        else if (!(result?.ExhaustedPreemptions >= enough))
        {
            left++;
            output.WriteLine($"left: {program} {result} {missing.Length} missing");
        }
        else
        {
            failures.Add(
                $"{program}\n  {result}\n" + string.Concat(missing.Select(m => $"  the platform shows, {shown[m]} times, and Explore does not: {m}\n")) +
                $"  both: {string.Join("   ", shown.Keys.Intersect(explored))}\n  Explore alone: {string.Join("   ", explored.Except(shown.Keys))}");
        }
    }

    private static ExploreResult Search(string kind, int seed, int preemptions, int schedules, HashSet<string> explored)
    {
        AppDomain.CurrentDomain.SetData(Seen, explored);
        return Explore.Run(
            async () => Note(await Programs.Kinds[kind].Make().RunAsync(seed)),
            new ExploreOptions
            {
                MaxPreemptions = preemptions,
                MaxSchedules = schedules,
                Reduction = true,
                UnobservedExceptionsFail = false,
                StoreBuffers = kind == "Memory",
                TimersFireAnyTime = kind.EndsWith("times", StringComparison.Ordinal),
            });
    }

    /// <summary>What a program shows, and how often.</summary>
    private static async Task<Dictionary<string, int>> OnPlatformAsync(string kind, int seed, int runs)
    {
        Dictionary<string, int> shown = [];
        TimeSpan longest = TimeSpan.FromSeconds(runs / 1000.0);
        using Processors processors = new();
        Stopwatch watch = new();
        foreach (bool isOne in new[] { false, true })
        {
            processors.Use(isOne);
            watch.Restart();
            for (int run = 0; (run < runs || kind == "Memory") && watch.Elapsed < longest; run++)
            {
                SmallProgram program = Programs.Kinds[kind].Make();
                SmallProgram.Pause = new Pauses(program.Threads(seed).Length, (seed * 7919) + run, isOne).Before;
                string outcome = await program.RunAsync(seed);
                shown[outcome] = shown.GetValueOrDefault(outcome) + 1;
            }
        }

        SmallProgram.Pause = null;
        return shown;
    }

    /// <summary>The rewritten copy of this class tells the original of each end of a schedule that was not left.</summary>
    private static void Note(string outcome)
    {
        if (Scheduling.Execution.Active!.SeenFrom == int.MaxValue)
        {
            ((HashSet<string>)AppDomain.CurrentDomain.GetData(Seen)!).Add(outcome);
        }
    }

    /// <summary>Lets the threads of one run begin together, and holds up each of them before its operations for as long as chance says.</summary>
    private sealed class Pauses(int threads, int seed, bool isOne)
    {
        private readonly int _style = seed % 5;
        private int _toCome = threads;

        public void Before(int thread, int step)
        {
            Random random = new((seed * 31) + (thread * 7) + step);
            if (step == 0 && !isOne)
            {
                // Not for ever: there may be no processor for it.
                Interlocked.Decrement(ref _toCome);
                for (int i = 0; i < 2_000 && Volatile.Read(ref _toCome) > 0; i++)
                {
                    Thread.SpinWait(1);
                }
            }

            if (isOne)
            {
                // Another thread comes where this one lets it.
                for (int i = random.Next(4); i > 0; i--)
                {
                    Thread.Sleep(0);
                }

                return;
            }

            switch (_style)
            {
                case 0:
                    break;
                case 1:
                    Thread.SpinWait(random.Next(10));
                    break;
                case 2:
                    Thread.SpinWait(random.Next(60));
                    break;
                case 3:
                    Thread.SpinWait(random.Next(1_000));
                    break;
                default:
                    Thread.SpinWait(random.Next(2) * 5_000);
                    break;
            }
        }
    }

    /// <summary>Which processors all threads of this process run on. Where the system has no such call, they run on all.</summary>
    private sealed class Processors : IDisposable
    {
        private readonly ulong[] _all = new ulong[16];
        private readonly bool _isKnown;

        public Processors() => _isKnown = OperatingSystem.IsLinux() && sched_getaffinity(0, _all.Length * sizeof(ulong), _all) > 0;

        public void Use(bool isOne)
        {
            if (!_isKnown)
            {
                return;
            }

            ulong[] mask = [.. _all];
            if (isOne)
            {
                int word = Array.FindIndex(mask, static w => w != 0);
                ulong first = mask[word] & (~mask[word] + 1);
                Array.Clear(mask);
                mask[word] = first;
            }

            foreach (string thread in Directory.EnumerateDirectories("/proc/self/task"))
            {
                // One that has ended by now is left out.
                _ = sched_setaffinity(int.Parse(Path.GetFileName(thread), CultureInfo.InvariantCulture), mask.Length * sizeof(ulong), mask);
            }
        }

        public void Dispose() => Use(isOne: false);

        [DllImport("libc")]
        private static extern int sched_getaffinity(int thread, nint size, [Out] ulong[] mask);

        [DllImport("libc")]
        private static extern int sched_setaffinity(int thread, nint size, [In] ulong[] mask);
    }
}
