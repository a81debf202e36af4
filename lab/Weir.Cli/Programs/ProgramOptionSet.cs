using System.Buffers;
using System.CommandLine.Parsing;
using Weir.Cli.Kit.Processes;

namespace Weir.Cli.Programs;

/// <summary>The options of the measuring of programs.</summary>
/// <param name="shared">The options of workloads, of which some are for programs too.</param>
/// <param name="words">The argument that holds the programs.</param>
internal sealed class ProgramOptionSet(RunOptionSet shared, Argument<string[]> words)
{
    private const int MostPrograms = 64;
    private const int LongestName = 40;
    private static readonly SearchValues<char> OfCommands = SearchValues.Create(" \t|&;<>()$`*\"'");
    private static readonly string[] Shells = OperatingSystem.IsWindows() ? ["cmd", "/c"] : ["sh", "-c"];

    private readonly Option<string[]> _name = new("--name") { HelpName = "TEXT", Description = "A name for the reports. Give one for each command" };
    private readonly Option<string[]> _prepare = new("--prepare")
    {
        HelpName = "'CMD'", Description = "A command that the shell runs before each run, unmeasured. Give one for all, or one for each",
    };
    private readonly TextOption _warmUps = TextOption.Of("--warmup", null, "N", "How often each program runs before the rounds. Default 1");
    private readonly Option<string?> _shell = new("--shell") { HelpName = "SHELL", Arity =
        ArgumentArity.ZeroOrOne, Description = "Run the program by a shell (sh if none is named). The start of the shell is measured and subtracted" };
    private readonly Option<bool> _ignore = new("--ignore-failure") { Description = "Accept any exit code" };
    private readonly Option<bool> _show = new("--show-output") { Description = "Show what the program prints, on the error output" };

    public void AddTo(Command command) => command.AddAll(_name, _prepare, _warmUps, _shell, _ignore, _show);

    /// <summary>Reads them.</summary>
    public ProgramSettings Read(ParseResult parsed)
    {
        ParameterSweep sweep = shared.Subjects.Sweep(parsed);
        (IReadOnlyList<string>? shell, string? ofShell) = ShellOf(parsed);
        string[] commands = Given(parsed, words);
        commands = ofShell is null ? commands : [ofShell, .. commands];
        if (commands.Length == 0)
        {
            throw new BadInputException(
                $"{words.Name} must be a program and its arguments, in quotes or after --, such as 'grep -c x file.txt'; it is absent.");
        }

        string[] names = parsed.GetValue(_name) ?? [];
        if (names.Length > 0 && (names.Length != commands.Length || names.Any(static n => n.Length == 0) || names.Distinct().Count() != names.Length))
        {
            throw new BadInputException(
                $"--name must be given once for each {words.Name}, with different names; there are {names.Length} names and {commands.Length} commands.");
        }

        string[] prepare = parsed.GetValue(_prepare) ?? [];
        if (prepare.Length > 1 && prepare.Length != commands.Length)
        {
            throw new BadInputException(
                $"--prepare must be given once for all commands, or once for each; there are {prepare.Length} for {commands.Length} commands.");
        }

        foreach (string parameter in sweep.Names.Where(p => !commands.Concat(prepare).Any(c => c.Contains($"{{{p}}}", StringComparison.Ordinal))))
        {
            throw new BadInputException($"--param {parameter} is used in no command: write {{{parameter}}} where its value belongs.");
        }

        ProgramSpec[][] programs = [.. commands.Select((text, i) => sweep.Combinations()
            .Select(values => Program(text, names.ElementAtOrDefault(i), prepare.ElementAtOrDefault(prepare.Length == 1 ? 0 : i), shell, values, sweep.Varied))
            .ToArray())];
        programs = Named(programs);
        if (programs.Sum(static p => p.Length) > MostPrograms)
        {
            throw new BadInputException(
                $"{words.Name} and --param give {Numbers.Grouped(programs.Sum(static p => p.Length))} programs; {MostPrograms} are measured at most.");
        }

        return new ProgramSettings
        {
            // Several commands are compared at each value of the parameters; of a single one, the values with each other.
            Groups = programs.Length == 1 ? programs : [.. Enumerable.Range(0, programs[0].Length).Select(i => programs.Select(p => p[i]).ToArray())],
            Rounds = shared.RoundsOf(parsed),
            WarmUps = _warmUps.Find(parsed)?.WholeNumber(0, 1000) ?? 1,
            Shell = shell,
            IgnoresFailures = parsed.GetValue(_ignore),
            ShowsOutput = parsed.GetValue(_show),
            Timeout = shared.TimeoutOf(parsed, ProgramDefaults.UsualTimeout),
        };
    }

    // The word after the option is the name of a shell, or else the first command: nobody who writes --shell 'a | b' means a shell of that name.
    private (IReadOnlyList<string>? Shell, string? Command) ShellOf(ParseResult parsed)
    {
        if (parsed.GetResult(_shell) is not { Implicit: false })
        {
            return (null, null);
        }

        string? named = parsed.GetValue(_shell);
        return named is null ? (Shells, null)
            : named.Trim().Length == 0 ? throw new OptionValue(_shell.Name, named).Bad("a shell, such as bash")
            : !File.Exists(named) && (parsed.GetValue(words) is not { Length: > 0 } || named.AsSpan().ContainsAny(OfCommands))
                ? (Shells, named)
            : ([named, named.EndsWith("cmd", StringComparison.OrdinalIgnoreCase) ? "/c" : "-c"], null);
    }

    // What follows two dashes is the words of one program, which the shell has split already.
    private static string[] Given(ParseResult parsed, Argument<string[]> words)
    {
        string[] given = parsed.GetValue(words) ?? [];
        int after = parsed.Tokens.Reverse().TakeWhile(static t => t.Type != TokenType.DoubleDash).Count();
        string? option = after == parsed.Tokens.Count ? Array.Find(given, static g => g.StartsWith('-')) : null;
        return option is not null
            ? throw new BadInputException(
                $"'{option}' is no option of {parsed.CommandResult.Command.Name}; what belongs to a program goes into its quotes, or after --.")
            : after == parsed.Tokens.Count ? given
            : after == given.Length ? [string.Join(' ', given.Select(CommandWords.Quoted))]
            : throw new BadInputException($"{words.Name} must be one program after --, or programs in quotes without --; there are both.");
    }

    private ProgramSpec Program(string text, string? name, string? prepare, IReadOnlyList<string>? shell,
        IReadOnlyList<KeyValuePair<string, string>> values, IReadOnlyList<string> varied)
    {
        static string Filled(string form, IEnumerable<KeyValuePair<string, string>> with) =>
            with.Aggregate(form, static (t, p) => t.Replace($"{{{p.Key}}}", p.Value, StringComparison.Ordinal));

        string filled = Filled(text, values);
        if (filled.Trim().Length == 0)
        {
            throw new OptionValue(words.Name, text).Bad("a program and its arguments, such as 'grep -c x file.txt'");
        }

        Dictionary<string, string> own = new(values.Where(v => varied.Contains(v.Key)));
        return new ProgramSpec
        {
            // Varied parameters follow the name, as with workloads.
            Name = string.Join(
                ' ', [name ?? Shortened(Filled(text, values.Where(v => !varied.Contains(v.Key)))), .. own.Select(static v => $"{v.Key}={v.Value}")]),
            Text = filled,
            Words = shell is null ? CommandWords.Split(new OptionValue(words.Name, filled)) : [.. shell, filled],
            Prepare = prepare is null ? null : Filled(prepare, values),
            Varied = own,
        };
    }

    // A column of a table is as wide as its longest name. The end is often more informative than the middle.
    private static string Shortened(string text) => text.Length <= LongestName ? text : $"{text[..((LongestName / 2) - 1)]}…{text[^(LongestName / 2)..]}";

    // Two sides with the same name need different names, even if they are the same thing.
    private static ProgramSpec[][] Named(ProgramSpec[][] programs)
    {
        string[] all = [.. programs.SelectMany(static p => p).Select(static p => p.Name)];
        return all.Distinct().Count() == all.Length ? programs : [.. programs.Select(
            static (own, i) => own.Select(p => p with { Name = $"{(char)('A' + (i % 26))}{(i < 26 ? "" : i / 26)}: {p.Name}" }).ToArray())];
    }
}

/// <summary>All settings of the measuring of programs, checked.</summary>
internal sealed record ProgramSettings
{
    /// <summary>The programs in groups: those of one group are compared with its first.</summary>
    public required IReadOnlyList<IReadOnlyList<ProgramSpec>> Groups { get; init; }

    /// <summary>How many rounds each has; <see langword="null"/> for as many as its time asks for.</summary>
    public int? Rounds { get; init; }

    /// <summary>How often each is run before the rounds.</summary>
    public required int WarmUps { get; init; }

    /// <summary>How a command is given to the shell; <see langword="null"/> when the program is started without one.</summary>
    public IReadOnlyList<string>? Shell { get; init; }

    /// <summary>Whether any exit code counts as success.</summary>
    public bool IgnoresFailures { get; init; }

    /// <summary>Whether what the programs print is shown.</summary>
    public bool ShowsOutput { get; init; }

    /// <summary>How long the end of a run is waited for.</summary>
    public required TimeSpan Timeout { get; init; }

    /// <summary>The programs, one after the other.</summary>
    public IReadOnlyList<ProgramSpec> Programs => [.. Groups.SelectMany(static g => g)];
}

/// <summary>A program that is measured.</summary>
internal sealed record ProgramSpec
{
    /// <summary>The name in reports.</summary>
    public required string Name { get; init; }

    /// <summary>The command as it was given, with the values of its parameters in their places.</summary>
    public required string Text { get; init; }

    /// <summary>The program, and its arguments.</summary>
    public required IReadOnlyList<string> Words { get; init; }

    /// <summary>What is run before each run of it; <see langword="null"/> for nothing.</summary>
    public string? Prepare { get; init; }

    /// <summary>The parameters that are varied, and their values here.</summary>
    public IReadOnlyDictionary<string, string> Varied { get; init; } = new Dictionary<string, string>();
}
