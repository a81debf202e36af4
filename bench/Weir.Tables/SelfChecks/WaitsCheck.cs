using Weir.Lab.Report.Tables;

namespace Weir.Tables.SelfChecks;

/// <summary>Whether a profile names each of the planted waits, and how much slower the profiled round is.</summary>
/// <param name="command">Runs it.</param>
/// <param name="runs">How often.</param>
internal sealed class WaitsCheck(KeptRuns command, int runs)
{
    private const double MostSlower = 0.05;
    private const int Rounds = 5;
    private const string Duration = "300ms";

    /// <summary>Profiles them.</summary>
    /// <exception cref="InvalidOperationException">The command came to no result.</exception>
    public async Task<CheckSection> RunAsync(CancellationToken cancellationToken)
    {
        List<ResultFile> all = [];
        for (int i = 1; i <= runs; i++)
        {
            all.Add(await command.RunAsync(Invariant($"waits-{i:00}"), 0, Command(Rounds, Duration), Said, cancellationToken));
        }

        return Section(all);
    }

    /// <summary>The command that profiles each of them.</summary>
    public static IReadOnlyList<string> Command(int rounds, string duration) =>
    [
        "run", "--assembly", WeirCommand.UserAssembly,
        "--method", string.Join(',', PlantedWaits.Named.Select(static p => $"{nameof(PlantedWaits)}.{p.Method}")),
        "--workers", "2", "--rounds", Invariant($"{rounds}"), "--duration", duration, "--profile",
    ];

    /// <summary>
    /// Whether it is one of the first two in the table of waits: those that hold what another one waits for sleep as long, and may come before it.
    /// </summary>
    public static bool IsNamed(ProfileRecord? profile, (string Method, string For) planted) => profile is not null && WaitSite.Of(profile.Waits).Take(2)
        .Any(w => w.For == planted.For && w.Method.EndsWith($"{nameof(PlantedWaits)}.{planted.Method}", StringComparison.Ordinal));

    internal static CheckSection Section(IReadOnlyList<ResultFile> all)
    {
        ResultFile[] quiet = [.. all.Where(static r => !r.IsOfAnUnquietMachine)];
        bool areNamed = true;
        bool areQuick = quiet.Length > 0;
        string table = "| method | waits for | named | slower while profiled: median | most |\n|---|---|---|---|---|\n";
        for (int i = 0; i < PlantedWaits.Named.Count; i++)
        {
            (string Method, string For) planted = PlantedWaits.Named[i];
            int named = all.Count(r => IsNamed(ArmOf(r, i)?.Profile, planted));
            double[] slower = [.. quiet.Select(r => SlownessOf(ArmOf(r, i))).OfType<double>()];
            double middle = slower.Length > 0 ? Spread.Of(slower).Median : double.PositiveInfinity;
            areNamed &= named == all.Count;
            areQuick &= middle <= MostSlower;
            table += Invariant($"| `{planted.Method}` | {planted.For} | {named} of {all.Count} | ")
                + (slower.Length > 0 ? Invariant($"{middle * 100:0.0} % | {slower.Max() * 100:0.0} % |\n") : "not known | |\n");
        }

        return new CheckSection(
            Invariant($"each of the {PlantedWaits.Named.Count} planted waits is named in each of {all.Count} profiles, and the profiled round is at most ")
                + Invariant($"{MostSlower * 100:0} % slower than the others where the machine was quiet (the median of these runs)."),
            table
                + Invariant($"\nEach run is `{WeirCommand.Text(["run", "--assembly", WeirCommand.UserAssembly])} --workers 2 --rounds {Rounds} ")
                + Invariant($"--duration {Duration} --profile` with all methods of `{nameof(PlantedWaits)}` that are named here. One is named if it is one of ")
                + "the first two places "
                + "in the table of waits, with what it waits for. The rate while stacks are sampled is compared with the median of the others. "
                + Invariant($"{quiet.Length} of {all.Count} runs found the machine quiet.\n"),
            areNamed && areQuick,
            IsFit: quiet.Length > 0,
            NeedsQuiet: areNamed);
    }

    private static ArmRecord? ArmOf(ResultFile result, int number) => result.Arms.ElementAtOrDefault(number);

    private static double? SlownessOf(ArmRecord? arm) =>
        arm is { IsMeasured: true, Profile.Rate: > 0 and { } rate } ? 1 - (rate / arm.Rate().Median) : null;

    private static string Said(ResultFile result) =>
        Invariant($"{PlantedWaits.Named.Where((p, i) => IsNamed(ArmOf(result, i)?.Profile, p)).Count()} of {PlantedWaits.Named.Count} named");
}
