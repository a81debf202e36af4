namespace Weir.Cli.Commands.Compare;

/// <summary>What is measured in turns: two workloads, methods, two builds, or two commits.</summary>
internal sealed class SideOptions
{
    private readonly Argument<string?> _before =
        new("A") { Description = "The side to compare with: a workload as NAME or NAME:grain=TIME,workers=N,gc=wks, a result file, or "
        + "@NAME of a kept one; absent with --assembly. " + WorkloadArgument.Help, Arity = ArgumentArity.ZeroOrOne };

    private readonly Argument<string?> _after =
        new("B") { Description = "The side to compare; absent if methods, builds or values of a parameter are compared", Arity = ArgumentArity.ZeroOrOne };

    private readonly TextOption _against = TextOption.Of("--against", null, "FILE", "Another build of --assembly to compare with it");
    private readonly TextOption _git = TextOption.Of("--git", null, "A..B", "Two commits whose builds of --project to compare, such as main..HEAD");
    private readonly TextOption _project = TextOption.Of("--project", null, "DIR", "With --git, the project with the code");

    /// <summary>Creates the options.</summary>
    /// <param name="rounds">How many rounds a side has at most by default.</param>
    public SideOptions(int rounds) => Runs = new RunOptionSet(isScale: false, rounds, duration: "100ms", isDecided: true);

    /// <summary>The options of workloads.</summary>
    public RunOptionSet Runs { get; }

    public void AddTo(Command command)
    {
        command.Add(_before);
        command.Add(_after);
        Runs.AddTo(command);
        command.AddAll(_against, _git, _project);
    }

    /// <summary>A and B; <see langword="null"/> for one that is not given.</summary>
    public string?[] Texts(ParseResult parsed) => [parsed.GetValue(_before), parsed.GetValue(_after)];

    /// <summary>Whether two commits are compared.</summary>
    public bool HasCommits(ParseResult parsed) => _git.Find(parsed) is not null;

    /// <summary>Finds the sides, builds them if they are commits, and uses them.</summary>
    /// <exception cref="BadInputException">There are not two things to compare, or one cannot be used.</exception>
    public async Task<ResultFile> UseAsync(ParseResult parsed, RunProgress progress, Func<Sides, Task<ResultFile>> use, CancellationToken stop)
    {
        OptionValue? range = _git.Find(parsed);
        OptionValue? source = _project.Find(parsed);
        OptionValue? other = _against.Find(parsed);
        string?[] texts = Texts(parsed);
        if (range is null != source is null || (range is not null && (texts[0] is not null || Runs.Subjects.HasAssembly(parsed) || other is not null)))
        {
            throw new BadInputException(
                "--git and --project must be used together, and select what is compared: --git main..HEAD --project src/MyLib --method "
                    + "Namespace.Class.Method.");
        }

        if (range is null)
        {
            return await use(Sides.Of(parsed, texts, Runs, other));
        }

        await using GitBuilds builds = await GitBuilds.MakeAsync(range, source!, progress, stop);
        return await use(Sides.Of(parsed, Runs, builds.Before, builds.After));
    }
}
