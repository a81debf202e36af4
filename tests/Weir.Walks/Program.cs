using Weir.Walks;

// eng/walks tells the verbs.
switch (args)
{
    case ["do", var name]:
        await Scenarios.All[name]();
        break;
    case ["circles", .. var projects]:
        foreach (string project in projects)
        {
            Console.WriteLine(Walk.CirclesOf(project));
        }

        break;
    case [.. var names] when names.Except([.. Scenarios.All.Keys, "compare"]).FirstOrDefault() is { } unknown:
        Console.Error.WriteLine($"There is no walk {unknown}: it must be {string.Join(", ", Scenarios.All.Keys)} or compare.");
        return 1;
    default:
        foreach (string name in args.Length > 0 ? args : [.. Scenarios.All.Keys, "compare"])
        {
            await Scenarios.PrepareAsync(name);
            Console.WriteLine(Walk.Through(name));
        }

        break;
}

return 0;
