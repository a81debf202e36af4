using System.CommandLine;
using System.Reflection;
using Weir.Lab.Suites.Auto;
using Weir.Lab.Suites.Blocking;
using Weir.Lab.Suites.Compared;
using Weir.Lab.Suites.Verbs;
using Weir.Lab.Suites.Startup;

namespace Weir.Lab.Suites;

/// <summary>The commands that measure Weir itself, for a program that also has other commands.</summary>
public static class SuiteCommands
{
    /// <summary>Makes the commands.</summary>
    /// <param name="output">Where tables and pages go.</param>
    /// <param name="errors">Where progress and errors go.</param>
    /// <param name="program">The program itself, which is started again for what needs a process of its own.</param>
    /// <returns>
    /// <c>ratios</c>, <c>warm-up</c>, <c>cold-start</c>, <c>blocking-table</c>, <c>auto-table</c>, <c>runtimes-table</c> and <c>selfcheck</c>.
    /// </returns>
    public static IReadOnlyList<Command> Create(TextWriter output, TextWriter errors, Assembly program) =>
    [
        RatiosCommand.Create(output, errors),
        TableCommand.Create(
            new Command(WarmUpRun.Verb, "Measures the first calls of a process: code that was compiled a moment ago. Each measurement in a process of its "
                + "own."),
            SuiteOptions.Rounds("How many processes each arm is measured in.", 5, 1, 100),
            "Which work, by its name on the page. Without it, all.",
            "The page to write, such as docs/results/warm-up.md. Its notes are kept.",
            new WarmUpRun(output, errors, program).RunAsync),
        TableCommand.Create(
            new Command(ColdRun.Verb, "Measures the first call of a process that has nothing else in it, as plain IL and compiled ahead of time. Each "
                + "measurement in a process of its own."),
            SuiteOptions.Rounds("How many processes each arm of each build is measured in.", 7, 1, 100),
            "Which work, by its name on the page. Without it, all.",
            "The page to write, such as docs/results/cold-start.md. Its notes are kept.",
            new ColdRun(output, errors).RunAsync),
        TableCommand.Create(
            new Command(BlockingRun.Verb, "Measures calls that block their thread, beside Parallel.ForEachAsync and the platform's block. Each measurement in "
                + "a process of its own."),
            SuiteOptions.Rounds("How many processes each arm is measured in.", 5, 1, 100),
            "Which tables, by their names on the page, in lower case. Without it, all, of about 7 minutes a round.",
            "The page to write, such as docs/results/blocking.md. Its notes are kept.",
            new BlockingRun(output, errors, program).RunAsync),
        TableCommand.Create(
            new Command("auto-table", "Measures the auto runtime against each fixed runtime, on each kind of work, in turns."),
            SuiteOptions.Rounds("How often each arm is measured.", 9, 1, 1000),
            "Which workloads, by their names on the page or in the catalogue. Without it, those of the page.",
            "The page to write, such as docs/results/auto.md.",
            new AutoRun(output, errors).RunAsync),
        ComparedCommand.Create(output, errors),
        SelfCheckCommand.Create(output, errors, program),
    ];

    /// <summary>
    /// Whether <c>bench</c> is asked for other versions of .NET than the suites are for: then its program for them is meant.
    /// </summary>
    /// <param name="arguments">The arguments of <c>bench</c>.</param>
    /// <returns>The arguments with the command that measures them; <see langword="null"/> for all other arguments.</returns>
    public static IReadOnlyList<string>? ForOtherRuntimes(IEnumerable<string> arguments)
    {
        string[] given = [.. arguments];
        return given.Contains("--runtimes") && given.Any(static a => a is "net8.0" or "net9.0") ? [ComparedRun.Verb, .. given] : null;
    }

    /// <summary>
    /// Answers a process that <c>warm-up</c> or <c>blocking-table</c> started for one measurement. Call it first in the program's entry point: the
    /// compilation of code that has run before is not measured.
    /// </summary>
    /// <param name="arguments">The program's arguments.</param>
    /// <returns>The exit code to end with; <see langword="null"/> for any other process.</returns>
    public static async Task<int?> MeasureHereAsync(string[] arguments) => arguments switch
    {
        [WarmUpRun.Verb, WarmUpRun.Arm, var arm] => await WarmUpRun.MeasureHereAsync(arm, Console.Out, Console.Error),
        [BlockingRun.Verb, WarmUpRun.Arm, var arm] => await BlockingRun.MeasureHereAsync(arm, Console.Out, Console.Error),
        _ => null,
    };
}
