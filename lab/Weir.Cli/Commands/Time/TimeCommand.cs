using Weir.Cli.Programs;

namespace Weir.Cli.Commands.Time;

/// <summary>The <c>time</c> command: measures other people's programs, each run in a process of its own.</summary>
internal static class TimeCommand
{
    public const string Name = "time";

    public const string Description =
        "Measures any program: time, processor, memory. It starts the program again and again. Several programs take turns, and are compared.";

    public static Command Create(WeirHost host)
    {
        Argument<string[]> words = new("COMMAND")
        {
            Arity = ArgumentArity.ZeroOrMore,
            Description = "After --, a program with its arguments. Otherwise each is one, in quotes, and several take turns: weir time './old -x' './new -x'",
        };
        RunOptionSet shared = new(isScale: false, rounds: 10, duration: "1s", isOfPrograms: true);
        ProgramOptionSet programs = new(shared, words);
        OutputOptionSet outputs = new(Threshold.OfPrograms);
        CompareOptionSet compare = new();
        PullRequestOptionSet reviews = new();
        FailOnOption failOn = new("neither");
        KeepOption keep = new();
        Command command = new(Name, Description) { words };
        programs.AddTo(command);
        command.AddAll([.. shared.OfPrograms, .. compare.OfTurns, .. reviews.Options, failOn.Flag]);
        outputs.AddTo(command);
        keep.AddTo(command);
        command.MakeRare("--alpha", "--annotate");
        command.SetAction(async (parsed, _) =>
        {
            ProgramSettings settings = programs.Read(parsed);
            OutputSettings output = outputs.Read(parsed);
            ComparisonOptions options = compare.Read(parsed);
            bool? isStrict = failOn.IsStrict(parsed);
            string? summary = reviews.File(parsed);
            keep.Read(parsed, host);
            string[] arguments = [.. parsed.Tokens.Select(static t => t.Value)];
            ResultFile result = await RunProgress.RunAsync(
                host, output.Quiet, p => ProgramArms.MeasureAsync(host, arguments, settings, options, p));
            int code = ResultOutput.Write(result, output, host);
            keep.Keep(parsed, result, host);
            int judged = reviews.Write(parsed, summary, result, code, host);
            return isStrict is { } strict ? FailOnOption.Code(judged, result, strict) : code;
        });
        return command;
    }
}
