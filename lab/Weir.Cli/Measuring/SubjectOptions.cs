using System.CommandLine;
using Weir.Cli.Hosting;
using Weir.Cli.Options;
using Weir.Cli.Workloads;
using Weir.Cli.Workloads.UserCode;

namespace Weir.Cli.Measuring;

/// <summary>The options that say what is measured: a built-in workload or a user's code, and the parameters that are set or varied.</summary>
internal sealed class SubjectOptions
{
    private readonly TextOption _grain = TextOption.Of("--grain", null, "TIME", "How much work an operation has: cpu 10us, io and delay 1ms");
    private readonly TextOption _collector = TextOption.Of("--gc", null, "MODE", "The garbage collector of the measuring processes: wks (workstation) or svr (server, with a fixed number of heaps). Default: that of the program");
    private readonly TextOption _assembly = TextOption.Of("--assembly", null, "FILE", "An assembly with your own code; what it needs is loaded from beside it");
    private readonly TextOption _method = TextOption.Of("--method", null, "N.C.M,...", "Methods of it without parameters or with a CancellationToken, static or of a class that can be made, and classes that implement IWorkload");
    private readonly Option<string[]> _param = new("--param") { HelpName = "NAME=VALUE,...", Description = "Sets a parameter of the workload or of your class; each of several values is measured, and of several --param every combination" };

    public SubjectOptions()
    {
        // Such a class is no method, so the option has a second name.
        _method.Flag.Aliases.Add("--class");
    }

    public void AddTo(Command command)
    {
        foreach (Option option in new Option[] { _grain.Flag, _collector.Flag, _assembly.Flag, _method.Flag, _param })
        {
            command.Add(option);
        }
    }

    /// <summary>Whether the code of an assembly is measured.</summary>
    public bool HasAssembly(ParseResult parsed) => Find(_assembly, parsed) is not null;

    /// <summary>Whether there is any of these options.</summary>
    public bool HasAny(ParseResult parsed) => new Option[] { _grain.Flag, _collector.Flag, _assembly.Flag, _method.Flag, _param }.Any(o => parsed.GetResult(o) is { Implicit: false });

    /// <summary>Reads them.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="workload">A built-in workload; <see langword="null"/> when none is given.</param>
    /// <param name="built">An assembly that takes the place of <c>--assembly</c>; <see langword="null"/> for none.</param>
    /// <param name="inGroups">Whether several methods run side by side in groups of workers, and not one after the other.</param>
    /// <returns>What is measured: of each thing one for every combination of parameters.</returns>
    /// <exception cref="BadInputException">A value cannot be used.</exception>
    public IReadOnlyList<IReadOnlyList<WorkloadSpec>> Read(ParseResult parsed, string? workload, bool inGroups, string? built = null)
    {
        (WorkloadSpec[] specs, UserAssembly? assembly) = Specs(parsed, workload, inGroups, built is null ? Find(_assembly, parsed) : new OptionValue("--project", built));
        if (Find(_grain, parsed) is { } grain)
        {
            if (assembly is not null)
            {
                throw new BadInputException("--grain needs a built-in workload: cpu, io or delay.");
            }

            TimeSpan time = WorkloadCatalog.Grain(specs[0].Name, grain);
            specs = [.. specs.Select(s => s with { Grain = s.Grain ?? time })];
        }

        if (Find(_collector, parsed) is { } collector)
        {
            // What a workload says itself wins.
            string mode = CollectorMode.Read(collector);
            specs = [.. specs.Select(s => s with { Collector = s.Collector ?? mode })];
        }

        ParameterSweep sweep = new(parsed.GetValue(_param) ?? []);
        WorkloadSpec[][] subjects = [.. specs.Select(s => sweep.Of(s).ToArray())];

        // Here, so that a wrong name is one line before anything is measured.
        if (assembly is not null)
        {
            foreach (WorkloadSpec spec in subjects.SelectMany(static s => s))
            {
                if (WorkloadCatalog.Create(spec, assembly) is MethodWorkload && inGroups && spec.Methods.Count == 1)
                {
                    throw new BadInputException("--groups needs the workload channel, or several methods of an assembly; all workers of the others do the same.");
                }
            }
        }

        return subjects;
    }

    private static OptionValue? Find(TextOption setting, ParseResult parsed) => setting.Find(parsed, static _ => null);

    private (WorkloadSpec[] Specs, UserAssembly? Assembly) Specs(ParseResult parsed, string? workload, bool inGroups, OptionValue? file)
    {
        OptionValue? method = Find(_method, parsed);
        if (file is null && method is null)
        {
            return workload is { Length: > 0 }
                ? ([WorkloadSpec.Parse(workload)], null)
                : throw new BadInputException($"WORKLOAD must be {WorkloadCatalog.Names}, or a method with --assembly and --method.");
        }

        if (file is null || (method is null && !File.Exists(file.Text)))
        {
            throw new BadInputException("--assembly and --method go together: --assembly X.dll --method Namespace.Class.Method.");
        }

        if (workload is not null)
        {
            throw new BadInputException("WORKLOAD cannot be used with --assembly, which brings its own.");
        }

        UserAssembly assembly = UserAssembly.Load(file.Text);
        string[] names = method is null ? [Only(assembly, file)] : method.Text.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        if (names.Length == 0 || names.Distinct().Count() != names.Length)
        {
            throw method!.Bad("different methods or classes between commas, each as Namespace.Class.Method or Namespace.Class");
        }

        IReadOnlyList<string> titles = UserWorkloads.ShortNames(names);
        string path = Path.GetFullPath(file.Text);
        return (inGroups
            ? [new WorkloadSpec { Name = titles[0], Assembly = path, Methods = names }]
            : [.. names.Select((n, i) => new WorkloadSpec { Name = titles[i], Assembly = path, Methods = [n] })], assembly);
    }

    private static string Only(UserAssembly assembly, OptionValue file) => assembly.Workloads is [var only]
        ? only
        : throw new BadInputException($"--assembly needs --method Namespace.Class.Method, or --class with one that implements IWorkload: '{file.Text}' has {(assembly.Workloads.Count == 0 ? "no such class" : string.Join(", ", assembly.Workloads))}{(assembly.Workloads.Count == 0 ? assembly.Nearest("") : "")}.");
}
