using System.CommandLine;

namespace Weir.Lab.Suites.SelfChecks;

/// <summary>The command line of <c>lab</c>: the lab shows on itself what it claims.</summary>
internal static class SelfCheckCommand
{
    public const string Name = "lab";

    public static Command Create()
    {
        Option<FileInfo?> output = new("--output") { Description = "The page to write." };
        Option<bool> quick = new("--quick") { Description = "Without the part that BenchmarkDotNet builds and runs, which takes a minute or two." };
        Command command = new(Name, "Shows on the lab itself what it claims: verdicts, coordinated omission, the cost of recording, workers that scale.") { output, quick };
        command.SetAction((parsed, _) => Task.Run(() => RunAsync(parsed.GetValue(output), parsed.GetValue(quick))));
        return command;
    }

    private static async Task<int> RunAsync(FileInfo? output, bool isQuick)
    {
        if (output is not null && output.Directory is not { Exists: true })
        {
            await Console.Error.WriteLineAsync($"--output names a file in a folder that exists; {output} does not.");
            return 1;
        }

        List<CheckSection> sections = [await VerdictCheck.RunAsync(), await OmissionCheck.RunAsync(), RecordingCheck.Run()];
        if (!isQuick)
        {
            sections.Add(ScalingCheck.Run());
        }

        string page = await CheckPage.RenderAsync(sections);
        await Console.Out.WriteLineAsync(page);
        if (output is not null)
        {
            await File.WriteAllTextAsync(output.FullName, page);
        }

        return sections.TrueForAll(static s => s.IsMet) ? 0 : 2;
    }
}
