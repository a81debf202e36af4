using System.Reflection;
using Weir.Overload;

// A process for the server and one for its clients, which starts it: 'serve' and 'load', each with the setting as name=value.
switch (args)
{
    case ["serve", .. var setting]:
        await Service.RunAsync(Setting.Parse(setting));
        return 0;
    case ["load", .. var setting]:
        Console.WriteLine(await Load.RunAsync(Setting.Parse(setting), Assembly.GetExecutingAssembly().Location));
        return 0;
    default:
        await Console.Error.WriteLineAsync("overload: 'load arm=Weir server=Slots load=3 notices=True changes=False warm=5 seconds=10 seed=1', or 'serve' likewise.");
        return 1;
}
