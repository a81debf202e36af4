namespace Weir.Cli.Commands.Compare;

/// <summary>The sides of the comparisons: in each group, all others are compared with the first.</summary>
/// <param name="Settings">The settings that all share.</param>
/// <param name="Groups">The sides of each group, by the names that they have in reports.</param>
internal sealed record Sides(RunSettings Settings, IReadOnlyList<IReadOnlyList<(string Name, WorkloadSpec Workload)>> Groups)
{
    /// <summary>The maximum number of sides that take turns. Each has several processes that stay alive.</summary>
    public const int Most = 8;

    private const int LongestBuildName = 40;

    /// <summary>Members that only one of two builds has, and that are not compared.</summary>
    public IReadOnlyList<string> InOneOnly { get; init; } = [];

    /// <summary>How many comparisons there are.</summary>
    public int Comparisons => Groups.Sum(static g => g.Count - 1);

    /// <summary>Finds out what is to be compared.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="texts">The workloads A and B; <see langword="null"/> for one that is not given.</param>
    /// <param name="options">The options of workloads.</param>
    /// <param name="against">Another build of the assembly; <see langword="null"/> for none.</param>
    /// <exception cref="BadInputException">There are not two things to compare, or one cannot be used.</exception>
    public static Sides Of(ParseResult parsed, IReadOnlyList<string?> texts, RunOptionSet options, OptionValue? against)
    {
        if (against is not null && !options.Subjects.HasAssembly(parsed))
        {
            throw new BadInputException("--against is another build of --assembly: --assembly before/X.dll --against after/X.dll.");
        }

        RunSettings first = options.Read(parsed, texts[0], other: against?.Text, mayRepeat: against is null);
        Sides sides = against is not null
            ? Builds(first, against) with { InOneOnly = options.Subjects.InOneOnly(parsed, first.Workload.Assembly!, against.Text) }
            : texts[1] is null ? Own(first, parsed.CommandResult.Command.Name)
            : Workloads(first, options.Read(parsed, texts[1]), texts!);
        return sides.Groups[0].Count <= Most
            ? sides
            : throw new BadInputException(
                $"{parsed.CommandResult.Command.Name} compares {sides.Groups[0].Count - 1} things with the first; at most {Most - 1} are possible at once.");
    }

    /// <summary>Two builds of one project.</summary>
    /// <exception cref="BadInputException">The builds do not both contain what is to be measured.</exception>
    public static Sides Of(ParseResult parsed, RunOptionSet options, (string Name, string Path) before, (string Name, string Path) after) =>
        Builds(options.Read(parsed, workload: null, before.Path, after.Path), new OptionValue("--project", after.Path), (before.Name, after.Name)) with
        {
            InOneOnly = options.Subjects.InOneOnly(parsed, before.Path, after.Path),
        };

    private static Sides Builds(RunSettings settings, OptionValue against, (string Before, string After)? names = null)
    {
        try
        {
            UserAssembly other = UserAssembly.Load(against.Text);
            foreach (WorkloadSpec workload in settings.Workloads)
            {
                _ = WorkloadCatalog.Create(workload, other);
            }
        }
        catch (BadInputException e)
        {
            throw new BadInputException($"{(names is { } own ? own.After : $"{against.Source} '{against.Text}'")}: {e.Message}");
        }

        string path = Path.GetFullPath(against.Text);
        (string before, string after) = names ?? BuildNames(settings.Workload.Assembly!, path);
        return new Sides(
            settings, [.. settings.Workloads.Select(w => new[] { ($"{w.Label} ({before})", w), ($"{w.Label} ({after})", w with { Assembly = path }) })]);
    }

    // Several methods with each other, or several values of the parameters of one.
    private static Sides Own(RunSettings settings, string command)
    {
        IReadOnlyList<IReadOnlyList<WorkloadSpec>> subjects = settings.Subjects;

        // What is compared with itself needs names that differ, as below.
        bool isRepeated = subjects.Select(static s => s[0].Name).Distinct().Count() < subjects.Count;
        string NameOf(int subject, WorkloadSpec workload) => isRepeated ? workload.Named($"{(char)('A' + subject)}: {workload.Name}") : workload.Label;
        return subjects.Count == 1 && subjects[0].Count == 1
            ? throw new BadInputException(
                $"{command} needs two things: A and B, several methods in --method (the same one twice shows what this machine can tell apart), another build "
                    + "in --against, or several values in --param.")
            : subjects.Count == 1 ? new Sides(settings, [[.. subjects[0].Select(static w => (w.Label, w))]])
            : new Sides(settings, [.. Enumerable.Range(0, subjects[0].Count).Select(i => subjects.Select((s, j) => (NameOf(j, s[i]), s[i])).ToArray())]);
    }

    private static Sides Workloads(RunSettings before, RunSettings after, IReadOnlyList<string> texts)
    {
        // Two sides with the same name need different names, even if they are the same thing.
        string[] names = before.Workload.Name != after.Workload.Name ? [before.Workload.Name, after.Workload.Name]
            : texts[0] != texts[1] ? [.. texts]
            : [$"A: {texts[0]}", $"B: {texts[1]}"];
        return new Sides(
            before,
            [
                .. before.Workloads.Zip(after.Workloads, (a, b) => new[] { (a.Named(names[0]), a with { Workers = a.Workers ?? before.Workers[0] }), (
                    b.Named(names[1]), b with { Workers = b.Workers ?? after.Workers[0] }) }),
            ]);
    }

    /// <summary>Short names for two builds: what differs in their paths.</summary>
    internal static (string Before, string After) BuildNames(string before, string after)
    {
        string[] left = before.Split(Path.DirectorySeparatorChar);
        string[] right = after.Split(Path.DirectorySeparatorChar);
        int most = Math.Min(left.Length, right.Length);
        int start = Enumerable.Range(0, most).TakeWhile(i => left[i] == right[i]).Count();
        int end = Enumerable.Range(1, most - start).TakeWhile(i => left[^i] == right[^i]).Count();
        (string one, string other) = (string.Join('/', left[start..^end]), string.Join('/', right[start..^end]));
        return one.Length is > 0 and <= LongestBuildName && other.Length is > 0 and <= LongestBuildName ? (one, other) : ("A", "B");
    }
}
