namespace Weir.Cli.Measuring;

/// <summary>The options that say what is measured: a built-in workload or a user's code, and the parameters that are set or varied.</summary>
internal sealed class SubjectOptions
{
    private readonly TextOption _grain = TextOption.Of("--grain", null, "TIME", "The amount of work in an operation: cpu 10us, io and delay 1ms");
    private readonly TextOption _collector = TextOption.Of("--gc", null, "MODE",
        "The garbage collector of the measuring processes: wks (workstation) or svr (server, with a fixed number of heaps). Default: the program's").Rare();
    private readonly TextOption _assembly =
        TextOption.Of("--assembly", null, "FILE", "An assembly with your own code; dependencies are loaded from its folder");
    private readonly TextOption _method = TextOption.Of("--method", null, "N.C.M,...",
        "Methods without parameters or with a CancellationToken, static or of a class that can be constructed, and classes that implement IWorkload");
    private readonly TextOption _filter =
        TextOption.Of("--filter", null, "PATTERN", "Instead of --method: all public methods and workloads whose full names match, such as '*Parse*'");
    private readonly Option<string[]> _param;

    public SubjectOptions(bool isOfPrograms = false)
    {
        string what = isOfPrograms ? "Puts a value in the place of {NAME} in the commands" : "Sets a parameter of the workload or of your class";
        _param = new("--param")
        {
            HelpName = "NAME=VALUE,...", Description = $"{what}. Several values are all measured; several --param give every combination",
        };

        // A workload class is not a method, so the option has a second name.
        _method.Aliases.Add("--class");
    }

    public void AddTo(Command command) => command.AddAll(All);

    /// <summary>The option that sets parameters.</summary>
    public Option Param => _param;

    /// <summary>The parameters that are set or varied.</summary>
    public ParameterSweep Sweep(ParseResult parsed) => new(parsed.GetValue(_param) ?? []);

    /// <summary>Whether the code of an assembly is measured.</summary>
    public bool HasAssembly(ParseResult parsed) => Find(_assembly, parsed) is not null;

    /// <summary>Whether there is any of these options.</summary>
    public bool HasAny(ParseResult parsed) => All.Any(o => parsed.GetResult(o) is { Implicit: false });

    /// <summary>The methods that <c>--filter</c> selects and that only one of two assemblies has; none without the option.</summary>
    public IReadOnlyList<string> InOneOnly(ParseResult parsed, string before, string after)
    {
        if (Find(_filter, parsed) is not { } filter)
        {
            return [];
        }

        IReadOnlyList<string> left = UserAssembly.Load(before).Matching(filter.Text);
        IReadOnlyList<string> right = UserAssembly.Load(after).Matching(filter.Text);
        return [.. left.Except(right), .. right.Except(left)];
    }

    /// <summary>Reads them.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="workload">A built-in workload; <see langword="null"/> when none is given.</param>
    /// <param name="built">An assembly that takes the place of <c>--assembly</c>; <see langword="null"/> for none.</param>
    /// <param name="other">Another build of the assembly, in which the methods of <c>--filter</c> must be too; <see langword="null"/> for none.</param>
    /// <param name="inGroups">Whether several methods run side by side in groups of workers, and not one after the other.</param>
    /// <param name="mayRepeat">Whether a method may be there twice: it is compared with itself.</param>
    /// <returns>What is measured: of each thing one for every combination of parameters.</returns>
    public IReadOnlyList<IReadOnlyList<WorkloadSpec>> Read(
        ParseResult parsed, string? workload, bool inGroups, string? built = null, string? other = null, bool mayRepeat = false)
    {
        (WorkloadSpec[] specs, UserAssembly? assembly) =
            Specs(parsed, workload, inGroups, built is null ? Find(_assembly, parsed) : new OptionValue("--project", built), other, mayRepeat && !inGroups);
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
            // The workload's own setting takes precedence.
            string mode = CollectorMode.Read(collector);
            specs = [.. specs.Select(s => s with { Collector = s.Collector ?? mode })];
        }

        ParameterSweep sweep = Sweep(parsed);
        WorkloadSpec[][] subjects = [.. specs.Select(s => sweep.Of(s).ToArray())];

        // Checked here, so that a wrong name is reported in one line before anything is measured.
        if (assembly is not null)
        {
            foreach (WorkloadSpec spec in subjects.SelectMany(static s => s))
            {
                if (WorkloadCatalog.Create(spec, assembly) is MethodWorkload && inGroups && spec.Methods.Count == 1)
                {
                    throw new BadInputException(
                        "--groups needs the workload channel, or several methods of an assembly; in other workloads, all workers do the same.");
                }
            }
        }

        return subjects;
    }

    private static OptionValue? Find(TextOption setting, ParseResult parsed) => setting.Find(parsed);

    private (WorkloadSpec[] Specs, UserAssembly? Assembly) Specs(
        ParseResult parsed, string? workload, bool inGroups, OptionValue? file, string? other, bool mayRepeat)
    {
        OptionValue? filter = Find(_filter, parsed);
        OptionValue? method = Find(_method, parsed);
        if (filter is not null && (file is null || method is not null))
        {
            throw new BadInputException("--filter is used with --assembly or --git, instead of --method: --assembly X.dll --filter '*Parse*'.");
        }

        if (file is null && method is null)
        {
            return workload is { Length: > 0 }
                ? ([WorkloadSpec.Parse(workload)], null)
                : throw new BadInputException($"WORKLOAD must be {WorkloadCatalog.Names}, or a method with --assembly and --method.");
        }

        if (file is null || (method is null && !File.Exists(file.Text)))
        {
            throw new BadInputException("--assembly and --method must be used together: --assembly X.dll --method Namespace.Class.Method.");
        }

        if (workload is not null)
        {
            throw new BadInputException("WORKLOAD cannot be used with --assembly, which has its own.");
        }

        UserAssembly assembly = UserAssembly.Load(file.Text);
        string[] names = filter is not null ? Filtered(assembly, filter, file, other)
            : method is null ? [Only(assembly, file)]
            : method.Text.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        if (names.Length == 0 || (!mayRepeat && names.Distinct().Count() != names.Length))
        {
            throw method!.Bad("different methods or classes separated by commas, each as Namespace.Class.Method or Namespace.Class");
        }

        IReadOnlyList<string> titles = UserWorkloads.ShortNames(names);
        string path = Path.GetFullPath(file.Text);
        return (inGroups
            ? [new WorkloadSpec { Name = titles[0], Assembly = path, Methods = names }]
            : [.. names.Select((n, i) => new WorkloadSpec { Name = titles[i], Assembly = path, Methods = [n] })], assembly);
    }

    private Option[] All => [_grain, _collector, _assembly, _method, _filter, _param];

    private static string[] Filtered(UserAssembly assembly, OptionValue filter, OptionValue file, string? other)
    {
        IReadOnlyList<string> names = assembly.Matching(filter.Text);
        if (other is not null)
        {
            names = [.. names.Intersect(UserAssembly.Load(other).Matching(filter.Text))];
        }

        return names.Count switch
        {
            0 => throw new BadInputException(
                $"--filter '{filter.Text}' matches nothing measurable in "
                    + $"'{Path.GetFileName(file.Text)}'{(other is null ? "" : " of both builds")}"
                    + $"{assembly.Nearest(filter.Text.Replace("*", "", StringComparison.Ordinal))}."),
            > ParameterSweep.MostCombinations =>
                throw new BadInputException($"--filter '{filter.Text}' matches {names.Count} methods; {ParameterSweep.MostCombinations} are measured at most."),
            _ => [.. names],
        };
    }

    private static string Only(UserAssembly assembly, OptionValue file) => assembly.Workloads is [var only]
        ? only
        : throw new BadInputException(
            $"--assembly needs --method Namespace.Class.Method, or --class with one that implements IWorkload: '{file.Text}' has "
                + $"{(assembly.Workloads.Count == 0 ? "no such class" : string.Join(", ", assembly.Workloads))}"
                + $"{(assembly.Workloads.Count == 0 ? assembly.Nearest("") : "")}.");
}
