using System.Diagnostics;
using System.Globalization;
using FsCheck;
using FsCheck.Fluent;
using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Differential;

/// <summary>Do random programs see the same of a block as of Microsoft's?</summary>
public abstract class DifferentialContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    private const int Attempts = 3;

    // Milliseconds. The last is for machines that are so busy that their pool hardly runs.
    private static readonly int[] Patience = [50, 300, 10_000];

    // Each attempt of a failing program waits for what never comes, so the search for a shorter one is ended.
    private static readonly TimeSpan ShrinkTime = TimeSpan.FromSeconds(15);
    private static readonly MicrosoftBlocks Oracle = new();

    // WEIR_SEED repeats a run, WEIR_STRESS=seconds runs longer and from another seed each time.
    private static readonly ulong Seed = Number("WEIR_SEED") ?? (Number("WEIR_STRESS") is null ? 20_251_120 : (ulong)Stopwatch.GetTimestamp());

    public static TheoryData<BlockKind> AllKinds => Kinds.All;

    public static TheoryData<BlockKind> BoundingKinds => Kinds.Bounding;

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(AllKinds))]
    public async Task RandomProgram_DefaultOptions_SeesTheSame(BlockKind kind) => Compare(kind, BlockSettings.Default);

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(BoundingKinds))]
    public async Task RandomProgram_BoundOfOne_SeesTheSame(BlockKind kind) => Compare(kind, new BlockSettings { Bound = 1 });

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(BoundingKinds))]
    public async Task RandomProgram_BoundOfThree_SeesTheSame(BlockKind kind) =>
        Compare(kind, new BlockSettings { Bound = 3, BatchSize = kind == BlockKind.Batch ? 2 : 1, PerTask = 2 });

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(AllKinds))]
    public async Task RandomProgram_DegreeOrBatchOfTwo_SeesTheSame(BlockKind kind) =>
        Compare(kind, new BlockSettings { Degree = 2, BatchSize = 2, Groups = Kinds.Joins(kind) || kind == BlockKind.Batch ? 3 : -1 });

    private static void Compare(BlockKind kind, BlockSettings settings)
    {
        int programs = Number("WEIR_STRESS") is { } seconds ? 20 * (int)seconds : 30;
        Config config = Config.QuickThrowOnFailure.WithMaxTest(programs).WithStartSize(5).WithEndSize(40).WithReplay(Seed, 1);
        Gen<int[]> gen = Gen.ArrayOf(Gen.Choose(0, int.MaxValue - 1));
        Arbitrary<int[]> arbitrary = Arb.From(gen, ArbMap.Default.ArbFor<int[]>().Shrinker);
        long failed = 0;
        Prop.ForAll(arbitrary, drawn =>
        {
            if (failed != 0 && Stopwatch.GetElapsedTime(failed) > ShrinkTime)
            {
                return true.ToProperty();
            }

            Instruction[] program = [.. drawn.Select(Instruction.Of)];
            string? difference = null;
            for (int attempt = 0; attempt < Attempts; attempt++)
            {
                difference = Difference(kind, settings, program, attempt);
                if (difference is null)
                {
                    return true.ToProperty();
                }
            }

            failed = failed == 0 ? Stopwatch.GetTimestamp() : failed;
            return false.Label($"Seed {Seed}, {kind}, {string.Join(' ', program)}\n{difference}");
        }).Check(config);
    }

    /// <summary>
    /// Runs the program on both. Threads of the pool take part, so a step may find one of them further on than the other;
    /// a difference counts only if it stays when each attempt gives them more time to come to rest.
    /// </summary>
    private static string? Difference(BlockKind kind, BlockSettings settings, Instruction[] program, int attempt)
    {
        using var theirs = new Machine(Oracle, kind, settings);
        using var ours = new Machine(new TBlocks(), kind, settings);
        foreach (Instruction instruction in program)
        {
            theirs.Do(instruction);
            ours.Do(instruction);
            (string Theirs, string Ours) seen = default;
            bool Same()
            {
                while (theirs.Run() + ours.Run() > 0)
                {
                }

                seen = (theirs.Observation, ours.Observation);
                return seen.Theirs == seen.Ours;
            }

            if (attempt > 0)
            {
                // What is on its way through the pool comes to its end, however long that takes. The times below are over early on a busy machine.
                Never.True(() =>
                {
                    Same();
                    return false;
                });
            }

            if (instruction.Step >= Step.Complete || attempt > 0)
            {
                SpinWait.SpinUntil(() => { Same(); return theirs.Ended && ours.Ended; }, 2 << (2 * attempt));
            }

            if (!SpinWait.SpinUntil(Same, Patience[attempt]))
            {
                return $"after {instruction}\n--- Microsoft\n{seen.Theirs}--- {typeof(TBlocks).Name}\n{seen.Ours}";
            }

            if (theirs.EndedBadly && ours.EndedBadly)
            {
                // What was left in it may come or go now: Microsoft's cancelled blocks still offer it to a late link, or do not.
                break;
            }
        }

        return null;
    }

    private static ulong? Number(string variable) =>
        ulong.TryParse(Environment.GetEnvironmentVariable(variable), CultureInfo.InvariantCulture, out ulong number) ? number : null;
}
